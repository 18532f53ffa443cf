// SPDX-License-Identifier: MIT
// tacit bench compress: every compressor on one core, beside memcpy in the same minutes.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/bench.h"
#include "cli/terminal.h"
#include "tacit/compress/compression.h"
#include "tacit/core/error.h"
#include "tacit/core/kernels.h"

namespace tacit::cli {
namespace {

constexpr int kTurns = 7;
// The weights of ResNet-50: K. He et al., CVPR 2016, arXiv:1512.03385, table 1.
constexpr std::size_t kResnetValues = 25'502'912;

struct CompressRow {
  std::string spec;
  double bytes_per_value = 0;
  double encode = 0;  // seconds
  double decode = 0;
  double copy = 0;  // memcpy of the input
  double pass = 0;  // reading the input once
};

template <class Work>
double seconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Convolutions as matrices, output channels by the rest, and the last layer.
std::vector<Matrix> resnet50() {
  std::vector<Matrix> all{{64 * 147, 64}};
  std::size_t in = 64;
  const std::size_t blocks[] = {3, 4, 6, 3};
  for (std::size_t stage = 0; stage < 4; ++stage) {
    const std::size_t width = std::size_t{64} << stage;
    for (std::size_t block = 0; block < blocks[stage]; ++block) {
      all.push_back({in * width, width});
      all.push_back({width * width * 9, width});
      all.push_back({width * width * 4, width * 4});
      if (block == 0) all.push_back({in * width * 4, width * 4});
      in = width * 4;
    }
  }
  all.push_back({2048 * 1000, 1000});
  return all;
}

// What is measured: a vector, what it becomes, and what is added to.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual void encode(ConstFloatView x, std::int64_t turn) = 0;
  virtual void decode(FloatView y) = 0;
  virtual std::size_t bytes() const = 0;
};

class CompressorSubject final : public Subject {
 public:
  CompressorSubject(const Compression& how, std::size_t values)
      : by_(how.maker.compressor()), room_(by_->max_bytes(values) / sizeof(float) + 1) {}
  void encode(ConstFloatView x, std::int64_t turn) override {
    size_ = by_->encode(x, Rng(1, 0, turn, Rng::Use::kRounding), bytes_of(FloatView(room_)));
  }
  void decode(FloatView y) override {
    by_->decode_add(bytes_of(ConstFloatView(room_)).first(size_), 0.5F, y);
  }
  std::size_t bytes() const override { return size_; }

 private:
  std::unique_ptr<Compressor> by_;
  std::vector<float> room_;
  std::size_t size_ = 0;
};

class SketchSubject final : public Subject {
 public:
  SketchSubject(const Compression& how, std::vector<Matrix> tensors) : tensors_(std::move(tensors)) {
    for (const Matrix& m : tensors_) {
      sketches_.push_back(how.maker.sketch(m));
      for (int round = 0; round < sketches_.back()->rounds(); ++round) {
        const std::size_t floats = sketches_.back()->floats(round);
        sent_ += floats * sizeof(float);
        if (sums_.size() < floats) sums_.resize(floats);
      }
    }
  }
  void encode(ConstFloatView x, std::int64_t turn) override {
    each([&](LinearSketch& by, Slice s) {
      by.begin(Rng(1, 0, turn, Rng::Use::kRounding));
      for (int round = 0; round < by.rounds(); ++round) {
        const FloatView sums = FloatView(sums_).first(by.floats(round));
        by.sketch(round, part(x, s), sums);
        by.learn(round, sums);
      }
    });
  }
  void decode(FloatView y) override {
    each([&](LinearSketch& by, Slice s) { by.decode_add(0.5F, part(y, s)); });
  }
  std::size_t bytes() const override { return sent_; }

 private:
  template <class F>
  void each(const F& f) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < tensors_.size(); at += tensors_[i].count, ++i)
      f(*sketches_[i], Slice{at, tensors_[i].count});
  }
  std::vector<Matrix> tensors_;
  std::vector<std::unique_ptr<LinearSketch>> sketches_;
  std::vector<float> sums_;
  std::size_t sent_ = 0;
};

std::unique_ptr<Subject> make_subject(const Compression& how, std::size_t& values) {
  if (how.maker.compressor) return std::make_unique<CompressorSubject>(how, values);
  if (how.name != "powersgd") return std::make_unique<SketchSubject>(how, std::vector<Matrix>{{values, 0}});
  // Matrices of a real network; a number of values says nothing about shapes.
  std::vector<Matrix> tensors = resnet50();
  if (values >= kResnetValues) {
    values = 0;
    for (const Matrix& m : tensors) values += m.count;
  } else {
    tensors = {{values, 0}};
  }
  return std::make_unique<SketchSubject>(how, std::move(tensors));
}

CompressRow measure(const std::string& spec, ConstFloatView all, FloatView y_all) {
  std::size_t values = all.size();
  const auto subject = make_subject(Compression::parse(spec), values);
  const ConstFloatView x = all.first(values);
  const FloatView y = y_all.first(values);
  std::vector<double> copy_s;
  std::vector<double> pass_s;
  std::vector<double> encode_s;
  std::vector<double> decode_s;
  volatile float kept = 0;
  subject->encode(x, 0);  // first touches of memory are not what is measured
  for (int turn = 0; turn < kTurns; ++turn) {
    copy_s.push_back(seconds_of([&] { copy(x, y); }));
    encode_s.push_back(seconds_of([&] { subject->encode(x, turn); }));
    decode_s.push_back(seconds_of([&] { subject->decode(y); }));
    pass_s.push_back(seconds_of([&] { kept = kernels::max_abs(x); }));
  }
  return {spec,
          static_cast<double>(subject->bytes()) / static_cast<double>(values),
          median(encode_s),
          median(decode_s),
          median(copy_s),
          median(pass_s)};
}

std::vector<std::string> default_specs() {
  std::vector<std::string> specs = builtin_compressors().names();
  const auto qsgd = std::find(specs.begin(), specs.end(), "qsgd");
  specs.insert(qsgd + 1, {"qsgd:levels=127", "qsgd:elias"});
  return specs;
}

std::vector<Column> table_columns(const std::vector<std::string>& specs) {
  std::size_t widest = 0;
  for (const std::string& each : specs) widest = std::max(widest, each.size());
  return {{"compressor", std::max<std::size_t>(widest, 10), 9},
          {"B/value", 7, 8},
          {"encode", 7, 7},
          {"decode", 7, 6},
          {"memcpy", 7, 1},
          {"enc/cpy", 8, 3},
          {"dec/cpy", 8, 2},
          {"passes", 8, 5}};
}

}  // namespace

int bench_compress(const std::string& spec, std::int64_t values, bool json) {
  if (values < 1 || values > std::int64_t{1} << 30)
    throw InvalidConfig(fmt::format("--values {} is no vector; give 1 to 2^30", values));
  const std::vector<std::string> specs = spec.empty() ? default_specs() : std::vector<std::string>{spec};
  for (const std::string& each : specs) Compression::parse(each);
  const Activity activity(json, fmt::format("making {} values ...", values));
  std::vector<float> x(static_cast<std::size_t>(values));
  Rng rng(1, 0, 0, Rng::Use::kData);
  // Sums of uniform draws: bell-shaped as gradients are, and made fast.
  for (float& v : x) v = 0.01F * (rng.uniform() + rng.uniform() + rng.uniform() - 1.5F);
  std::vector<float> y(x.size());
  auto out = nlohmann::ordered_json::array();
  const std::size_t columns = columns_of(STDOUT_FILENO);
  const FixedTable table(table_columns(specs), columns);
  const auto print = [&](const std::string& line) {
    if (json) return;
    activity.pause();
    fmt::print("{}\n", line);
    std::fflush(stdout);
  };
  print(wrapped(fmt::format("{} values, one core, medians of {} turns; GB/s of input", values, kTurns),
                columns, 2));
  print(table.head());
  std::size_t measured = 0;
  for (const std::string& each : specs) {
    activity.now(fmt::format("{} ({} of {})", each, ++measured, specs.size()));
    const CompressRow r = measure(each, x, y);
    const double gigabytes =
        4e-9 * static_cast<double>(r.spec.starts_with("powersgd") && x.size() >= kResnetValues ? kResnetValues
                                                                                               : x.size());
    const double passes = (r.encode + r.decode) / r.pass;
    if (json)
      out.push_back({{"compressor", r.spec},
                     {"bytes_per_value", r.bytes_per_value},
                     {"encode_gb_per_s", gigabytes / r.encode},
                     {"decode_gb_per_s", gigabytes / r.decode},
                     {"memcpy_gb_per_s", gigabytes / r.copy},
                     {"encode_of_memcpy", r.copy / r.encode},
                     {"decode_of_memcpy", r.copy / r.decode},
                     {"passes", passes}});
    print(table.row(std::vector<std::string>{
        r.spec, fmt::format("{:.3f}", r.bytes_per_value), fmt::format("{:.2f}", gigabytes / r.encode),
        fmt::format("{:.2f}", gigabytes / r.decode), fmt::format("{:.2f}", gigabytes / r.copy),
        fmt::format("{:.0f}%", 100 * r.copy / r.encode), fmt::format("{:.0f}%", 100 * r.copy / r.decode),
        fmt::format("{:.1f}", passes)}));
  }
  activity.pause();
  if (json) fmt::print("{}\n", out.dump(2));
  return 0;
}

}  // namespace tacit::cli
