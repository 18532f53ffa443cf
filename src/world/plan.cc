// SPDX-License-Identifier: MIT
#include "world/plan.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "tacit/core/error.h"

namespace tacit {
namespace {

using Kind = WorldChoice::Kind;

WorldPlan plan_threads(const WorldChoice& choice) {
  WorldPlan plan;
  plan.size = choice.workers.value_or(1);
  plan.local_ranks = plan.size;
  return plan;
}

bool meets_over_mpi(const Launch& launch) { return launch.rendezvous.empty(); }

// The launcher whose ranks the chosen world can have, or null.
const Launch* pick(const std::vector<Launch>& found, Kind kind) {
  const auto fits = [&](const Launch& launch) { return kind != Kind::kMpi || meets_over_mpi(launch); };
  const auto first = std::find_if(found.begin(), found.end(), fits);
  return first == found.end() ? nullptr : &*first;
}

[[noreturn]] void refuse_without_launcher(Kind kind) {
  if (kind == Kind::kMpi)
    throw InvalidConfig(
        "a world over MPI needs a launcher that starts its ranks; start the program with mpirun or srun, "
        "such as mpirun -n 4");
  throw InvalidConfig(
      "a world over TCP needs to know which rank this process is; start it with tacit launch or torchrun, "
      "or set TACIT_RANK, TACIT_SIZE and TACIT_RENDEZVOUS for each process");
}

void check_workers(const WorldChoice& choice, const Launch& launch) {
  if (!choice.workers || *choice.workers == launch.size) return;
  throw InvalidConfig("--workers " + std::to_string(*choice.workers) + ", but " + launch.launcher +
                      " started " + std::to_string(launch.size) +
                      (launch.size == 1 ? " rank (" : " ranks (") + launch.size_name + "=" +
                      std::to_string(launch.size) + "); leave --workers out, or start the program without " +
                      launch.launcher);
}

// A key or the word that none is needed, the user's before the environment's.
void plan_key(const WorldChoice& choice, const Environment& env, WorldPlan& plan) {
  const bool said = !choice.key_file.empty() || choice.insecure_plaintext;
  plan.key_file = said ? choice.key_file : env.text("TACIT_KEY_FILE");
  if (!said) plan.key_descriptor = env.number("TACIT_KEY_FD", 0).value_or(-1);
  plan.tcp.insecure_plaintext = said ? choice.insecure_plaintext : env.flag("TACIT_INSECURE_PLAINTEXT");
  if (!plan.key_file.empty() && plan.key_descriptor >= 0)
    throw InvalidConfig("TACIT_KEY_FILE and TACIT_KEY_FD both give a key; unset one of them");
  if ((!plan.key_file.empty() || plan.key_descriptor >= 0) && plan.tcp.insecure_plaintext)
    throw InvalidConfig(
        "there is a job key, and the word that none is needed (--insecure-plaintext or "
        "TACIT_INSECURE_PLAINTEXT); take one of the two back");
}

// RANK@HOST:PORT
TcpMember parse_member(const std::string& text, int size) {
  TcpMember member;
  const std::size_t at = text.find('@');
  const std::size_t colon = text.rfind(':');
  const char* const end = text.data() + text.size();
  const bool whole = at != std::string::npos && colon != std::string::npos && colon > at + 1 &&
                     std::from_chars(text.data(), text.data() + at, member.rank).ptr == text.data() + at &&
                     std::from_chars(text.data() + colon + 1, end, member.port).ptr == end && member.port > 0;
  if (!whole || member.rank < 0 || member.rank >= size)
    throw InvalidConfig("TACIT_MEMBERS: '" + text +
                        "' is not RANK@HOST:PORT of a rank of this job; it is for tacit " +
                        "launch --restart to set");
  member.host = text.substr(at + 1, colon - at - 1);
  if (member.host.size() > 2 && member.host.front() == '[')
    member.host = member.host.substr(1, member.host.size() - 2);
  return member;
}

// What tacit launch --restart says: that lost ranks may come back, and to a process that does, who lives.
void plan_return(const Environment& env, TcpOptions& tcp) {
  const auto entry = env.number("TACIT_RETURN", 1);
  tcp.take_back = env.flag("TACIT_TAKE_BACK") || entry;
  if (!entry) return;
  tcp.entry = static_cast<std::uint32_t>(*entry);
  std::istringstream members(env.text("TACIT_MEMBERS"));
  for (std::string each; std::getline(members, each, ',');)
    tcp.members.push_back(parse_member(each, tcp.size));
  if (tcp.members.empty())
    throw InvalidConfig(
        "TACIT_RETURN=" + std::to_string(*entry) +
        " says that this rank comes back, and TACIT_MEMBERS does not say to whom; both are for "
        "tacit launch --restart to set");
}

void plan_tcp(const WorldChoice& choice, const Environment& env, const Launch& launch, WorldPlan& plan) {
  TcpOptions& tcp = plan.tcp;
  tcp.rank = launch.rank;
  tcp.size = launch.size;
  tcp.local_ranks = launch.local_ranks;
  tcp.share_memory = !env.flag("TACIT_SOCKETS_ONLY");
  tcp.rendezvous = choice.rendezvous.empty() ? launch.rendezvous : choice.rendezvous;
  if (tcp.rendezvous.empty())
    throw InvalidConfig(
        launch.launcher +
        " says which rank this is, and not where ranks meet over TCP; give "
        "--rendezvous tcp://HOST:PORT of rank 0, or file://PATH on a disk that all ranks see");
  if (!launch.job.empty()) tcp.job = launch.job;
  if (const std::string job = env.text("TACIT_JOB"); !job.empty()) {
    if (!is_job_id(job))
      throw InvalidConfig("TACIT_JOB=" + job +
                          " is no job id; use at most 64 letters, digits, '.', '_' and '-'");
    tcp.job = job;
  }
  tcp.listener = env.number("TACIT_LISTEN_FD", 0).value_or(-1);
  if (tcp.listener >= 0 && tcp.rank != 0)
    throw InvalidConfig("TACIT_LISTEN_FD=" + std::to_string(tcp.listener) +
                        " is for rank 0, and this is rank " + std::to_string(tcp.rank) + "; unset it here");
  if (const auto seconds = env.number("TACIT_START_LIMIT", 1)) tcp.start_limit = Seconds(*seconds);
  plan_return(env, tcp);
  plan.note_descriptor = env.number("TACIT_NOTES_FD", 0).value_or(-1);
  plan_key(choice, env, plan);
}

std::string describe_transport(const WorldPlan& plan) {
  if (plan.kind == Kind::kMpi) return "MPI";
  if (!plan.key_file.empty() || plan.key_descriptor >= 0) return "TCP with TLS";
  return plan.tcp.insecure_plaintext ? "TCP without encryption (--insecure-plaintext)"
                                     : "TCP on this machine only, as there is no job key";
}

}  // namespace

WorldPlan plan_world(const WorldChoice& choice, const Environment& env) {
  if (choice.kind == Kind::kThreads) return plan_threads(choice);
  const Launches launches = find_launches(env);
  const Launch* launch = pick(launches.found, choice.kind);
  if (launch == nullptr && choice.kind != Kind::kAuto) refuse_without_launcher(choice.kind);
  if (launch == nullptr) {
    if (!launches.doubt.empty() && !choice.workers) throw InvalidConfig(launches.doubt);
    return plan_threads(choice);
  }
  check_workers(choice, *launch);
  WorldPlan plan;
  plan.kind = choice.kind != Kind::kAuto ? choice.kind : meets_over_mpi(*launch) ? Kind::kMpi : Kind::kTcp;
  plan.rank = launch->rank;
  plan.size = launch->size;
  plan.local_ranks = launch->local_ranks;
  if (plan.kind == Kind::kTcp) plan_tcp(choice, env, *launch, plan);
  plan.how = std::to_string(plan.size) + (plan.size == 1 ? " rank" : " ranks") + " over " +
             describe_transport(plan) + ", as " + launch->rank_name + " and " + launch->size_name + " say (" +
             launch->launcher + ")";
  return plan;
}

}  // namespace tacit
