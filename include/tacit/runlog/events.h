// SPDX-License-Identifier: MIT
// What a run writes: run.jsonl has one event per line, summary.json the result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tacit {

// How unlike the samples of ranks are, where each has its own.
struct ShardSpread {
  std::int64_t smallest = 0;  // samples of the rank that has the fewest
  std::int64_t largest = 0;   // and of the one that has the most
  double largest_class =
      0;  // of a rank's samples, the share of the class that it has most of; mean over ranks
};

// How a run was asked for, as the user wrote it.
struct RunStarted {
  std::string version;
  std::string strategy;
  std::string compress;  // empty: nothing is compressed
  std::string model;
  std::string data;
  std::string shards;
  std::optional<ShardSpread> shard_spread;  // of a run whose ranks all draw from the same samples: none
  std::string optimizer;
  std::string schedule;
  std::string world;
  int workers = 1;
  std::int64_t batch = 0;  // per worker
  double lr = 0;
  std::uint64_t seed = 0;
  std::int64_t steps = 0;
  std::int64_t parameters = 0;
};

// A run that goes on from a checkpoint. What the log has of later steps is of a run that died, and is done again.
struct RunResumed {
  std::string version;
  std::int64_t step = 0;  // done by then
  int workers = 1;
  std::string from;     // the checkpoint
  std::string dropped;  // what of it did not fit; empty: nothing
};

// One rank after some steps.
struct StepsDone {
  int rank = 0;
  std::int64_t step = 0;  // steps done so far
  double loss = 0;        // mean over the steps since the rank's last such event
  double lr = 0;
  double seconds = 0;  // of training, without evaluations
};

// All ranks' weights on the test set.
struct Evaluated {
  std::int64_t step = 0;
  double epoch = 0;
  double loss = 0;
  double accuracy = 0;
  double seconds = 0;
};

// A rank that failed, without which the others went on.
struct RankLost {
  int rank = 0;
  std::int64_t step = 0;  // of the rank that says so, when it noticed
  std::string why;
  std::int64_t back = -1;  // likewise, when the rank took part again; -1: it has not
};

// A rank that was lost takes part again.
struct RankBack {
  int rank = 0;
  std::int64_t step = 0;  // of the rank that says so, when it noticed
};

// What a rank did with its time of training, in seconds: docs/worlds.md, docs/simulator.md.
struct RankTimes {
  int rank = 0;
  double compute = 0;
  double communicate = 0;
  double wait = 0;          // for peers that had nothing on the way yet
  std::uint64_t bytes = 0;  // sent, with the transport's framing
};

struct Summary {
  std::string status;  // finished, diverged, interrupted, failed
  std::string error;   // for diverged and failed
  std::string strategy;
  std::string compress;  // empty: nothing was compressed
  std::string model;
  std::string data;
  std::string shards;
  std::optional<ShardSpread> shard_spread;
  std::string world;
  int workers = 1;
  // The rank that all numbers are of, where a run of processes did not come to its end: it knows no other's.
  std::optional<int> only_rank;
  std::int64_t steps = 0;  // that all of them made
  std::int64_t samples = 0;
  double seconds = 0;  // of training, without evaluations
  double samples_per_second = 0;
  std::optional<double> loss;       // training loss over the last logged steps, mean over ranks
  std::optional<double> test_loss;  // these two: at the last evaluation
  std::optional<double> accuracy;
  std::optional<double> target_seconds;  // until the accuracy that was wanted, if it was reached
  std::uint64_t bytes_payload = 0;       // sent by all ranks together, evaluation not counted
  std::uint64_t bytes_wire = 0;          // the same with the transport's framing
  std::uint64_t messages = 0;
  std::uint64_t seed = 0;
  std::string weights_hash;
  std::vector<RankLost> lost;  // ranks without which the run went on
  // Means over ranks; those of each follow.
  std::optional<double> compute_seconds;
  std::optional<double> communicate_seconds;
  std::optional<double> wait_seconds;
  std::vector<RankTimes> ranks;
  std::string advice;      // what might make such a run faster; empty: nothing to say
  std::string trace_hash;  // of a simulated run
};

std::string to_json_line(const RunStarted& event);
std::string to_json_line(const RunResumed& event);
std::string to_json_line(const StepsDone& event);
std::string to_json_line(const Evaluated& event);
std::string to_json_line(const RankTimes& event);
std::string to_json_line(const RankLost& event);
std::string to_json_line(const RankBack& event);
std::string to_json_line(const Summary& event);
std::string to_json_text(const Summary& summary);  // indented

}  // namespace tacit
