// SPDX-License-Identifier: MIT
// The contestant "gloo" of `tacit bench`: all-reduce of N processes with gloo over TCP on loopback. The lines it reads
// and writes are those of src/cli/turn.h.
//
//   tacit_beside_gloo N [ring|bcube]
//
// Without a name each turn measures both of gloo's algorithms and answers with the faster one.
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/turn.h"
#include "tacit/core/space.h"

namespace {

using Algorithm = gloo::AllreduceOptions::Algorithm;
using Context = std::shared_ptr<gloo::Context>;
namespace fs = std::filesystem;

struct Plan {
  int ranks = 0;
  std::vector<Algorithm> algorithms;
  fs::path folder;  // where the ranks find each other; removed once they have
};

// Another rank, as rank 0 knows it. It sleeps in read(2) between turns; each line is the bytes of the next one.
struct Peer {
  pid_t pid = -1;
  int line = -1;
};

Plan make_plan(int argc, char** argv) {
  Plan plan;
  const std::string_view count = argc > 1 ? argv[1] : "";
  const std::string_view name = argc > 2 ? argv[2] : "";
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), plan.ranks);
  if (error != std::errc{} || end != count.data() + count.size() || plan.ranks < 1 || argc > 3)
    throw std::invalid_argument("usage: tacit_beside_gloo N [ring|bcube]");
  if (name != "bcube") plan.algorithms.push_back(Algorithm::RING);
  if (name != "ring") plan.algorithms.push_back(Algorithm::BCUBE);
  std::string pattern = (fs::temp_directory_path() / "tacit-gloo-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::system_error(errno, std::generic_category(), pattern);
  plan.folder = pattern;
  return plan;
}

Context meet(int rank, const Plan& plan) {
  auto device = gloo::transport::tcp::CreateDevice("127.0.0.1");
  gloo::rendezvous::FileStore store(plan.folder.string());
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, plan.ranks);
  context->connectFullMesh(store, device);
  gloo::BarrierOptions all(context);
  gloo::barrier(all);
  return context;
}

double measure_one(const Context& context, Algorithm algorithm, std::span<float> x) {
  gloo::AllreduceOptions sum(context);
  sum.setAlgorithm(algorithm);
  sum.setOutput(x.data(), x.size());
  sum.setReduceFunction(
      [](void* out, const void* a, const void* b, std::size_t n) { gloo::sum<float>(out, a, b, n); });
  const auto agree = [&](int& count) {
    gloo::BroadcastOptions options(context);
    options.setRoot(0);
    options.setOutput(&count, 1);
    gloo::broadcast(options);
  };
  return tacit::cli::measure([&] { gloo::allreduce(sum); }, agree);
}

double take_turn(const Context& context, const Plan& plan, std::size_t bytes) {
  // The same memory as Tacit's vectors have.
  const tacit::Block own = tacit::host_space().allocate(bytes / sizeof(float));
  const std::span<float> x = own.view().host();
  double best = std::numeric_limits<double>::infinity();
  for (const Algorithm algorithm : plan.algorithms) best = std::min(best, measure_one(context, algorithm, x));
  return best;
}

void lead(const Context& context, const Plan& plan, const std::vector<Peer>& peers) {
  while (const auto turn = tacit::cli::next_turn()) {
    if (turn->kind != "allreduce")
      throw std::invalid_argument("the turn is allreduce and not '" + turn->kind + "'");
    for (const Peer& peer : peers)
      if (write(peer.line, &turn->bytes, sizeof(turn->bytes)) != sizeof(turn->bytes))
        throw std::system_error(errno, std::generic_category(), "another rank has ended");
    tacit::cli::answer(take_turn(context, plan, turn->bytes));
  }
}

void follow(const Context& context, const Plan& plan, int line) {
  for (std::size_t bytes = 0; read(line, &bytes, sizeof(bytes)) == sizeof(bytes);)
    take_turn(context, plan, bytes);
}

int complain(int rank, const std::exception& error) {
  std::fprintf(stderr, "tacit_beside_gloo: rank %d: %s\n", rank, error.what());
  return 1;
}

// Forked before rank 0 has a thread.
Peer start_peer(int rank, const Plan& plan, const std::vector<Peer>& earlier) {
  int ends[2];
  if (pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const pid_t pid = fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid > 0) {
    close(ends[0]);
    return {pid, ends[1]};
  }
  // Held here, the others would not see the end of their lines when rank 0 is gone.
  close(ends[1]);
  for (const Peer& peer : earlier) close(peer.line);
  int code = 0;
  try {
    follow(meet(rank, plan), plan, ends[0]);
  } catch (const std::exception& error) {
    code = complain(rank, error);
  }
  _exit(code);
}

int run(const Plan& plan, std::vector<Peer>& peers) {
  try {
    for (int rank = 1; rank < plan.ranks; ++rank) peers.push_back(start_peer(rank, plan, peers));
    const Context context = meet(0, plan);
    fs::remove_all(plan.folder);
    lead(context, plan, peers);
    return 0;
  } catch (const std::exception& error) {
    // They may wait for this rank, which takes no more part.
    for (const Peer& peer : peers) kill(peer.pid, SIGKILL);
    return complain(0, error);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const Plan plan = make_plan(argc, argv);
    std::vector<Peer> peers;
    const int code = run(plan, peers);
    for (const Peer& peer : peers) close(peer.line);
    for (const Peer& peer : peers) waitpid(peer.pid, nullptr, 0);
    std::error_code ignored;
    fs::remove_all(plan.folder, ignored);
    return code;
  } catch (const std::exception& error) {
    return complain(0, error);
  }
}
