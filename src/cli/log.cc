// SPDX-License-Identifier: MIT
#include "cli/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "cli/terminal.h"

namespace tacit::cli {
namespace {

using StderrSink = spdlog::sinks::stderr_color_sink_mt;

class LogSink final : public StderrSink {
 public:
  void log(const spdlog::details::log_msg& message) override {
    LiveLines::of_stderr().aside([&] { StderrSink::log(message); });
  }
};

}  // namespace

void start_log() {
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("tacit", std::make_shared<LogSink>()));
  spdlog::set_pattern("tacit: %^%l%$: %v");
}

}  // namespace tacit::cli
