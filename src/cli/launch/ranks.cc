// SPDX-License-Identifier: MIT
#include "cli/launch/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace tacit::cli {
namespace {

// Where a rank finds what it inherits.
constexpr int kKeyNumber = 3;
constexpr int kListenerNumber = 4;
constexpr int kNotesNumber = 5;

// Variables of the contract that an outer job may have left belong to that job alone.
constexpr std::array<std::string_view, 10> kContract{
    "TACIT_RANK",      "TACIT_SIZE",       "TACIT_RENDEZVOUS",
    "TACIT_JOB",       "TACIT_KEY_FD",     "TACIT_KEY_FILE",
    "TACIT_LISTEN_FD", "TACIT_LOCAL_SIZE", "TACIT_INSECURE_PLAINTEXT",
    "TACIT_NOTES_FD"};

bool is_of_contract(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return std::find(kContract.begin(), kContract.end(), name) != kContract.end();
}

std::vector<std::string> environment_of(const Job& job, int rank, int local_size) {
  std::vector<std::string> variables = current_environment();
  std::erase_if(variables, is_of_contract);
  const auto set = [&](const char* name, const auto& value) {
    variables.push_back(fmt::format("{}={}", name, value));
  };
  set("TACIT_RANK", rank);
  set("TACIT_SIZE", job.size);
  set("TACIT_LOCAL_SIZE", local_size);
  set("TACIT_RENDEZVOUS", job.rendezvous);
  set("TACIT_JOB", job.id);
  if (job.key)
    set("TACIT_KEY_FD", kKeyNumber);
  else
    set("TACIT_INSECURE_PLAINTEXT", 1);
  if (rank == 0) set("TACIT_LISTEN_FD", kListenerNumber);
  set("TACIT_NOTES_FD", kNotesNumber);
  return variables;
}

}  // namespace

void start_ranks(Children& children, const Job& job, Share share, UniqueFd listener, int input) {
  const UniqueFd socket = std::move(listener);
  const UniqueFd null = open_null();
  UniqueFd key;
  if (job.key) key = make_key_memory(*job.key);
  const int notes = children.make_notes(job.size);
  for (int rank = share.first; rank < share.first + share.count; ++rank) {
    SpawnPlan plan{job.command, environment_of(job, rank, share.count), {{notes, kNotesNumber}}};
    if (job.key) plan.descriptors.emplace_back(key.get(), kKeyNumber);
    if (rank == 0) plan.descriptors.emplace_back(socket.get(), kListenerNumber);
    children.start(rank, std::move(plan), rank == 0 ? input : null.get());
  }
}

}  // namespace tacit::cli
