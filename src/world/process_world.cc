// SPDX-License-Identifier: MIT
// A world of which this process is one rank.
#include <utility>

#include "collectives/endpoint_comm.h"
#include "collectives/surviving_comm.h"
#include "tacit/core/error.h"
#include "tacit/core/version.h"
#include "transport/departure.h"
#include "world/backend.h"
#include "world/launcher_note.h"
#include "world/rank_process.h"

namespace tacit {
namespace {

class ProcessWorld final : public World::Impl {
 public:
  ProcessWorld(std::unique_ptr<Fabric> fabric, std::string name, MakeComm make_comm)
      : fabric_(std::move(fabric)), name_(std::move(name)), make_comm_(std::move(make_comm)) {}
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
  std::vector<int> given_up() const override { return given_up_; }
  std::uint16_t door() const override { return fabric_->door(); }

  void run(const std::function<void(Process&)>& body) override {
    TACIT_CHECK(!std::exchange(ran_, true), "a world runs once; make another");
    std::exception_ptr error;
    try {
      RankProcess process(fabric_->endpoint(), make_comm_, interrupted, name_);
      // One that is back may be lost again without harm once it takes part, as the others may.
      if (fabric_->door() != 0)
        process.take_back([this] { leave_note(origin.note_descriptor, rank(), LauncherNote::kOthersGoOn); });
      body(process);
      // Whom the others have given up in the last moment has not finished with them.
      fabric_->catch_up();
      (void)living(fabric_->endpoint());
    } catch (...) {
      error = std::current_exception();
    }
    // An agent's error explains the trainer's PeerLost, never an error of the trainer's own.
    const std::exception_ptr cause = fabric_->cause();
    if (cause && (!error || is_consequence(error))) error = cause;
    // Before it leaves: peers that end after it are none it went on without.
    if (!error)
      for (const Loss& loss : fabric_->endpoint().losses()) given_up_.push_back(loss.rank);
    fabric_->leave(error ? failure(error) : Departure{false, "its program ended"});
    if (error) std::rethrow_exception(error);
  }

 private:
  const std::unique_ptr<Fabric> fabric_;
  const std::string name_;
  const MakeComm make_comm_;
  bool ran_ = false;
  std::vector<int> given_up_;
};

}  // namespace

MakeComm own_collectives(const WorldOptions& options, const std::string& world) {
  if (options.native_collectives)
    throw InvalidConfig("native collectives are those of MPI, and this is a world of " + world +
                        "; start the program with mpirun, or leave native collectives out");
  return [algorithm = options.all_reduce, survive = options.survive](Endpoint& endpoint, Tasks& tasks,
                                                                     Tag::Lane lane) {
    auto plain = make_endpoint_comm(endpoint, tasks, lane, algorithm);
    if (!survive) return plain;
    endpoint.survive();
    return make_surviving_comm(endpoint, tasks, lane, std::move(plain));
  };
}

void agree_on_options(Fabric& fabric, const WorldOptions& options) {
  const auto text = [](bool yes) { return yes ? "true" : "false"; };
  const std::vector<Setting> own{
      {"the version of Tacit", version()},
      {"WorldOptions::survive", text(options.survive)},
      {"WorldOptions::native_collectives", text(options.native_collectives)},
      {"WorldOptions::all_reduce", std::to_string(static_cast<int>(options.all_reduce))}};
  try {
    ThreadTasks tasks;
    const auto plain =
        make_endpoint_comm(fabric.endpoint(), tasks, Tag::Lane::kControl, AllReduce::kRecursiveDoubling);
    agree(*plain, options.settings);
    agree(*plain, own);
  } catch (...) {
    fabric.leave(failure(std::current_exception()));
    throw;
  }
}

std::unique_ptr<World::Impl> make_process_world(std::unique_ptr<Fabric> fabric, std::string name,
                                                MakeComm make_comm) {
  return std::make_unique<ProcessWorld>(std::move(fabric), std::move(name), std::move(make_comm));
}

}  // namespace tacit
