// SPDX-License-Identifier: MIT
#include "cli/launch/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

// Where a rank finds what it inherits.
constexpr int kKeyNumber = 3;
constexpr int kListenerNumber = 4;
constexpr int kNotesNumber = 5;

// Variables of the contract that an outer job may have left belong to that job alone.
constexpr std::array<std::string_view, 13> kContract{
    "TACIT_RANK",      "TACIT_SIZE",       "TACIT_RENDEZVOUS",
    "TACIT_JOB",       "TACIT_KEY_FD",     "TACIT_KEY_FILE",
    "TACIT_LISTEN_FD", "TACIT_LOCAL_SIZE", "TACIT_INSECURE_PLAINTEXT",
    "TACIT_NOTES_FD",  "TACIT_RETURN",     "TACIT_MEMBERS",
    "TACIT_TAKE_BACK"};

bool is_of_contract(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return std::find(kContract.begin(), kContract.end(), name) != kContract.end();
}

template <class Value>
void set(std::vector<std::string>& variables, const char* name, const Value& value) {
  variables.push_back(fmt::format("{}={}", name, value));
}

std::vector<std::string> environment_of(const Job& job, int rank, int local_size) {
  std::vector<std::string> variables = current_environment();
  std::erase_if(variables, is_of_contract);
  set(variables, "TACIT_RANK", rank);
  set(variables, "TACIT_SIZE", job.size);
  set(variables, "TACIT_LOCAL_SIZE", local_size);
  set(variables, "TACIT_RENDEZVOUS", job.rendezvous);
  set(variables, "TACIT_JOB", job.id);
  if (job.key)
    set(variables, "TACIT_KEY_FD", kKeyNumber);
  else
    set(variables, "TACIT_INSECURE_PLAINTEXT", 1);
  set(variables, "TACIT_NOTES_FD", kNotesNumber);
  if (job.restarts) set(variables, "TACIT_TAKE_BACK", 1);
  return variables;
}

}  // namespace

LocalRanks::LocalRanks(Children& children, Job job, Share share)
    : children_(children), job_(std::move(job)), share_(share), notes_(children.make_notes(job_.size)) {}

SpawnPlan LocalRanks::plan_for(int rank) const {
  return {job_.command, environment_of(job_, rank, share_.count), {{notes_, kNotesNumber}}};
}

UniqueFd LocalRanks::add_key(SpawnPlan& plan) const {
  if (!job_.key) return {};
  UniqueFd key = make_key_memory(*job_.key);
  plan.descriptors.emplace_back(key.get(), kKeyNumber);
  return key;
}

void LocalRanks::start(UniqueFd listener, int input) {
  const UniqueFd socket = std::move(listener);
  const UniqueFd null = open_null();
  for (int rank = share_.first; rank < share_.first + share_.count; ++rank) {
    SpawnPlan plan = plan_for(rank);
    const UniqueFd key = add_key(plan);
    if (rank == 0) {
      set(plan.environment, "TACIT_LISTEN_FD", kListenerNumber);
      plan.descriptors.emplace_back(socket.get(), kListenerNumber);
    }
    children_.start(rank, std::move(plan), rank == 0 ? input : null.get());
  }
}

void LocalRanks::start_again(const Return& how) {
  if (how.rank < share_.first || how.rank >= share_.first + share_.count)
    throw InvalidConfig(fmt::format("rank {} is not of this machine", how.rank));
  const UniqueFd null = open_null();
  SpawnPlan plan = plan_for(how.rank);
  const UniqueFd key = add_key(plan);
  set(plan.environment, "TACIT_RETURN", how.number);
  set(plan.environment, "TACIT_MEMBERS", how.members);
  children_.clear_notes(how.rank);
  children_.start(how.rank, std::move(plan), null.get());
}

std::string address_at(const std::string& host, std::uint16_t port) {
  const std::size_t user = host.rfind('@');
  const std::string name = user == std::string::npos ? host : host.substr(user + 1);
  const bool brackets = name.find(':') != std::string::npos && name.front() != '[';
  return (brackets ? "[" + name + "]" : name) + ":" + std::to_string(port);
}

std::string rendezvous_at(const std::string& host, std::uint16_t port) {
  return "tcp://" + address_at(host, port);
}

}  // namespace tacit::cli
