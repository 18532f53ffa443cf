// SPDX-License-Identifier: MIT
// A world of which this process is one rank.
#include <utility>

#include "tacit/core/error.h"
#include "world/backend.h"
#include "world/rank_process.h"

namespace tacit {
namespace {

// What the peers are told. A rank that failed because it lost another one names that one: the loss of a messenger
// explains nothing.
Departure departure(const std::exception_ptr& error) {
  if (!error) return {false, "its program ended"};
  try {
    std::rethrow_exception(error);
  } catch (const PeerLost& lost) {
    return {true, lost.what(), lost.peer};
  } catch (...) {
    return {true, describe(std::current_exception())};
  }
}

class ProcessWorld final : public World::Impl {
 public:
  ProcessWorld(std::unique_ptr<Fabric> fabric, std::string name, WorldOptions options)
      : fabric_(std::move(fabric)), name_(std::move(name)), options_(std::move(options)) {}
  ProcessWorld(const ProcessWorld&) = delete;
  ProcessWorld& operator=(const ProcessWorld&) = delete;
  ~ProcessWorld() override {
    if (!ran_) fabric_->leave({true, "it ended before its run began"});
  }

  int size() const override { return fabric_->endpoint().size(); }
  int rank() const override { return fabric_->endpoint().rank(); }
  bool one_process() const override { return false; }
  std::string name() const override { return name_; }
  void interrupt() override { fabric_->interrupt(); }

  void run(const std::function<void(Process&)>& body) override {
    TACIT_CHECK(!std::exchange(ran_, true), "a world runs once; make another");
    std::exception_ptr error;
    try {
      RankProcess process(fabric_->endpoint(), options_);
      body(process);
    } catch (...) {
      error = std::current_exception();
    }
    // An agent's error explains the trainer's PeerLost, never an error of the trainer's own.
    const std::exception_ptr cause = fabric_->cause();
    if (cause && (!error || is_consequence(error))) error = cause;
    fabric_->leave(departure(error));
    if (error) std::rethrow_exception(error);
  }

 private:
  const std::unique_ptr<Fabric> fabric_;
  const std::string name_;
  const WorldOptions options_;
  bool ran_ = false;
};

}  // namespace

std::unique_ptr<World::Impl> make_process_world(std::unique_ptr<Fabric> fabric, std::string name,
                                                WorldOptions options) {
  return std::make_unique<ProcessWorld>(std::move(fabric), std::move(name), std::move(options));
}

}  // namespace tacit
