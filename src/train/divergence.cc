// SPDX-License-Identifier: MIT
#include "train/divergence.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

namespace tacit {
namespace {

constexpr double kRise = 1.1;  // more than batches differ from each other
constexpr double kNoBetterLoss =
    0.98;                      // of the guess's: what is learned of a few frequent pixels is not much
constexpr double kSigmas = 2;  // of the accuracy of guesses
constexpr std::int64_t kFewestSteps = 50;
constexpr std::int64_t kFewestRising = 10;  // a few steps of a large rate may go up before they go down

// By class.
std::vector<double> shares(const Dataset& data) {
  std::vector<double> all(static_cast<std::size_t>(std::max(1, data.classes)));
  for (const std::uint32_t label : data.samples->labels()) all[label] += 1;
  for (double& each : all) each /= static_cast<double>(data.size());
  return all;
}

std::string text(double value) {
  std::ostringstream out;
  out.precision(3);
  out << value;
  return out.str();
}

bool as_good_as_chance(double accuracy, const Guess& guess) {
  const double spread = std::sqrt(guess.accuracy * (1 - guess.accuracy) /
                                  static_cast<double>(std::max<std::size_t>(1, guess.samples)));
  return accuracy <= guess.accuracy + kSigmas * spread;
}

constexpr const char* kRemedy = "; lower the learning rate, warm it up, or look at the data";

}  // namespace

Course course_of(std::span<const RankReport> reports) {
  Course course;
  if (reports.empty()) return course;
  course.steps = reports[0].steps;
  double first = 0;
  double late = 0;
  bool all = true;
  for (const RankReport& r : reports) {
    course.steps = std::min(course.steps, r.steps);
    all = all && r.first_loss && r.late_loss;
    first += r.first_loss.value_or(0) / static_cast<double>(reports.size());
    late += r.late_loss.value_or(0) / static_cast<double>(reports.size());
  }
  if (all) course.first_loss = first;
  if (all) course.late_loss = late;
  if (reports[0].evaluation) course.accuracy = reports[0].evaluation->accuracy;
  return course;
}

Guess guess_of(const DataPair& data) {
  Guess guess;
  guess.samples = data.test.size();
  const std::vector<double> tested = shares(data.test);
  guess.accuracy = *std::max_element(tested.begin(), tested.end());
  for (const double share : shares(data.train))
    if (share > 0) guess.loss -= share * std::log(share);
  return guess;
}

std::string why_diverged(const Course& course, const std::optional<Guess>& guess) {
  if (!course.first_loss || !course.late_loss || course.steps < kFewestRising) return "";
  const double late = *course.late_loss;
  if (late > kRise * *course.first_loss && (!guess || late > guess->loss))
    return "the loss rose from " + text(*course.first_loss) + " at the first step to " + text(late) +
           " and more in the last quarter of the run" + kRemedy;
  if (!guess || !course.accuracy || course.steps < kFewestSteps) return "";
  if (!as_good_as_chance(*course.accuracy, *guess) || late < kNoBetterLoss * guess->loss) return "";
  return "after " + std::to_string(course.steps) + " steps the model is no better than a guess: accuracy " +
         text(*course.accuracy) + " where the most frequent class has " + text(guess->accuracy) + ", loss " +
         text(late) + " where a guess has " + text(guess->loss) + kRemedy;
}

}  // namespace tacit
