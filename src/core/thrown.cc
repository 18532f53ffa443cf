// SPDX-License-Identifier: MIT
#include "core/thrown.h"

#include <string_view>

#include "tacit/core/error.h"

namespace tacit {
namespace {

std::string in_one_line(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  text =
      text.substr(0, text.find("\nException raised from "));  // LibTorch: from here on, frames of the stack
  std::string line;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view part = text.substr(0, end);
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    const std::size_t first = part.find_first_not_of(kSpace);
    if (first == std::string_view::npos) continue;
    line += line.empty() ? "" : " ";
    line += part.substr(first, part.find_last_not_of(kSpace) + 1 - first);
  }
  return line.empty() ? "an error without a message" : line;
}

}  // namespace

std::string describe(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return e.what();
  } catch (const std::exception& e) {
    return in_one_line(e.what());
  } catch (...) {
    return "an error of unknown type";
  }
}

}  // namespace tacit
