// SPDX-License-Identifier: MIT
// Whether a run that came to its end has learned anything.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tacit/train/dataset.h"
#include "tacit/train/rank_report.h"

namespace tacit {

// A run, as far as it takes to judge it. Losses are of training and means over ranks.
struct Course {
  std::int64_t steps = 0;
  std::optional<double> first_loss;  // of the first step, before any update
  std::optional<double> late_loss;   // the smallest that was logged in the last quarter of the run
  std::optional<double> accuracy;    // at the last evaluation
};

Course course_of(std::span<const RankReport> reports);

// What somebody gets who knows nothing but how frequent each class is.
struct Guess {
  double accuracy =
      0;            // the share of the most frequent class in the test set: 1 / classes where all are alike
  double loss = 0;  // the entropy of the classes in the training set
  std::size_t samples = 0;  // of the test set
};

Guess guess_of(const DataPair& data);

// Why a run that ended is no success; empty where it is one. Either
//
// - its loss rose and stayed up: in the whole last quarter it was more than a tenth above that of the first step, and
//   above
//   the guess's. So a run that began with a low loss, by luck or because it was good, may lie a little above it; or
// - it is no better than the guess, in accuracy, up to what chance makes of as many test samples, and in loss. Both,
//   because
//   with a frequent class a model may well learn for long before it answers anything else; and only from 50 steps on,
//   because before that it may not have begun to learn.
//
// Without a guess, for models that know no classes, the first rule holds without its second half and the second one
// does not hold. A loss that is no number ends a run long before it comes here (Diverged).
std::string why_diverged(const Course& course, const std::optional<Guess>& guess);

}  // namespace tacit
