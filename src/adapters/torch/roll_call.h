// SPDX-License-Identifier: MIT
// Ranks tell each other what they are about to do together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tacit/collectives/comm.h"

namespace tacit::torch {

// What a rank says.
struct Word {
  enum class Doing : std::uint64_t {
    kStep,
    kEvaluation,
    kMetric,
    kNothing
  };  // kNothing: it has no more batches
  Doing doing = Doing::kStep;
  std::int64_t samples = -1;   // of its batch; -1: they do not count
  double value = 0;            // of a metric
  std::uint64_t gradient = 0;  // its hash, at the first step; 0: nobody asked
  bool equal_rates = false;    // whether ranks that step must do so at equal rates
};

// Everybody's words. Collective.
//
// Errors  Mismatch, on every rank, where ranks that have batches do different things.
class RollCall {
 public:
  RollCall(Comm& control, const Word& mine, const std::vector<double>& rates);

  // Of the ranks that have batches.
  int active() const { return active_; }
  Word::Doing doing() const { return doing_; }  // kNothing where none has
  double value() const { return value_; }       // the sum of theirs
  std::int64_t samples() const { return samples_; }
  const std::vector<double>& rates() const { return rates_; }  // of the first of them
  // More than one, with the same gradient to the bit.
  bool equal_gradients() const { return active_ > 1 && gradients_equal_; }
  int ranks() const { return ranks_; }

 private:
  void hear(int rank, const Word& word, std::vector<double> rates);
  void compare(int rank, const Word& word, const std::vector<double>& rates);

  int ranks_ = 0;
  int active_ = 0;
  int first_ = 0;  // the rank of first_word_
  Word first_word_;
  Word::Doing doing_ = Word::Doing::kNothing;
  std::vector<double> rates_;
  double value_ = 0;
  std::int64_t samples_ = 0;
  bool gradients_equal_ = true;
  std::string disagreement_;
};

}  // namespace tacit::torch
