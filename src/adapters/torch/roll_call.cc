// SPDX-License-Identifier: MIT
#include "adapters/torch/roll_call.h"

#include <cstring>
#include <utility>

#include "collectives/gather.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"

namespace tacit::torch {
namespace {

using Doing = Word::Doing;

std::string text(const Word& word) {
  switch (word.doing) {
    case Doing::kStep:
      return word.samples < 0 ? "step()" : "step(samples)";
    case Doing::kEvaluation:
      return "evaluation()";
    case Doing::kMetric:
      return "mean() or sum()";
    case Doing::kNothing:
      return "join()";
  }
  throw Bug("a rank that does nothing known");
}

std::string rank_text(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

RollCall::RollCall(Comm& control, const Word& mine, const std::vector<double>& rates) {
  std::vector<std::byte> message(sizeof mine + rates.size() * sizeof(double));
  std::memcpy(message.data(), &mine, sizeof mine);
  if (!rates.empty()) std::memcpy(message.data() + sizeof mine, rates.data(), rates.size() * sizeof(double));
  for (const FromRank& each : gather_bytes(control, message)) {
    Word word;
    std::memcpy(&word, each.bytes.data(), sizeof word);
    std::vector<double> theirs(rates.size());
    if (!rates.empty())
      std::memcpy(theirs.data(), each.bytes.data() + sizeof word, rates.size() * sizeof(double));
    hear(each.rank, word, std::move(theirs));
  }
  if (!disagreement_.empty()) throw Mismatch(disagreement_);
}

void RollCall::hear(int rank, const Word& word, std::vector<double> rates) {
  ++ranks_;
  if (word.doing == Doing::kNothing) return;
  ++active_;
  value_ += word.value;
  if (word.samples > 0) samples_ += word.samples;
  if (active_ > 1) return compare(rank, word, rates);
  first_ = rank;
  first_word_ = word;
  doing_ = word.doing;
  rates_ = std::move(rates);
  gradients_equal_ = word.gradient != 0;
}

void RollCall::compare(int rank, const Word& word, const std::vector<double>& rates) {
  gradients_equal_ = gradients_equal_ && word.gradient == first_word_.gradient;
  if (!disagreement_.empty()) return;
  const std::string first = rank_text(first_);
  const std::string other = rank_text(rank);
  if (text(word) != text(first_word_))
    disagreement_ = first + " calls " + text(first_word_) + " and " + other + " " + text(word) +
                    "; every rank must do the same in the same order";
  else if (word.doing == Doing::kStep && word.equal_rates && rates != rates_)
    disagreement_ = first + " and " + other + " have learning rates that differ (" +
                    (rates_.empty() ? "none" : exact(rates_[0])) + " and " +
                    (rates.empty() ? "none" : exact(rates[0])) +
                    "); give every rank the same, and step a schedule alike on all: with Options::uneven "
                    "once per epoch, after join()";
}

}  // namespace tacit::torch
