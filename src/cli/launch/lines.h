// SPDX-License-Identifier: MIT
// Cuts streams of bytes into lines.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace tacit::cli {

// Shows whose line it is. A line of more than 64 KiB is shown in pieces, each a line of its own, so that a program that
// never ends its line cannot fill the memory. Carriage returns are text.
class LinePrefixer {
 public:
  static constexpr std::size_t kLongest = std::size_t{64} << 10U;

  explicit LinePrefixer(std::string prefix) : prefix_(std::move(prefix)) {}
  // What can be shown after these bytes.
  std::string take(std::string_view bytes);
  // The last line, if it had no end.
  std::string finish();

 private:
  std::string prefix_;
  std::string begun_;
};

// Collects messages of one line each. What is left without an end is dropped with it. Of a longer line than `longest`
// the rest is dropped, and the line says so at its end: whoever never ends one must not fill the memory.
class LineCutter {
 public:
  explicit LineCutter(std::size_t longest) : longest_(longest) {}

  // Calls use(line) for every line that these bytes end.
  template <class Use>
  void take(std::string_view bytes, const Use& use) {
    for (std::size_t end = 0; (end = bytes.find('\n')) != std::string_view::npos;
         bytes.remove_prefix(end + 1)) {
      append(bytes.substr(0, end));
      use(finish());
    }
    append(bytes);
  }

 private:
  void append(std::string_view bytes);
  std::string finish();

  std::size_t longest_;
  std::string begun_;
  std::size_t dropped_ = 0;  // bytes
};

}  // namespace tacit::cli
