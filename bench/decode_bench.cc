// SPDX-License-Identifier: MIT
// How many files the data set `images` decodes beside what models take on the same machine, and how long it takes to list
// a folder of many.
//
//   decode_bench [files [width height [size [listed]]]]     default: 400 500 375 64 100000
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "adapters/torch/models.h"
#include "support/image_files.h"
#include "support/temp_dir.h"
#include "tacit/core/rng.h"
#include "tacit/train/model.h"
#include "train/images/image_samples.h"

namespace {

using tacit::test::RawImage;

constexpr int kBatch = 32;
constexpr int kTurns = 5;
constexpr int kFolders = 100;
constexpr int kClasses = 10;

struct Words {
  int files = 400;
  int width = 500;
  int height = 375;
  int size = 64;
  int listed = 100'000;
};

double seconds_of(const auto& what) {
  const auto begin = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Of the process, on all its cores: less at the mercy of what else the machine does.
double core_seconds_of(const auto& what) {
  const std::clock_t begin = std::clock();
  what();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// How many a second, and a second of a core.
struct Rate {
  double by_clock = 0;
  double by_core = 0;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// By the medians of some turns after one that warms up.
Rate rate_of(int count, const auto& what) {
  what();
  std::vector<double> seconds;
  std::vector<double> core_seconds;
  for (int i = 0; i < kTurns; ++i)
    core_seconds.push_back(core_seconds_of([&] { seconds.push_back(seconds_of(what)); }));
  return {count / median(seconds), count / median(core_seconds)};
}

// As large as a photograph of that size: smooth, with noise.
RawImage photograph(const Words& words, int number) {
  RawImage image = tacit::test::smooth_image(words.width, words.height, number);
  tacit::Rng rng(1, tacit::Rng::kEveryRank, number, tacit::Rng::Use::kData);
  for (std::uint8_t& value : image.values)
    value = static_cast<std::uint8_t>(std::clamp(static_cast<float>(value) + 8 * rng.normal(), 0.0F, 255.0F));
  return image;
}

tacit::ImageList photographs(const Words& words, const std::filesystem::path& folder) {
  std::vector<std::string> classes;
  for (int i = 0; i < kClasses; ++i) classes.push_back(std::to_string(i));
  tacit::ImageList list(folder, classes);
  std::size_t bytes = 0;
  for (int i = 0; i < words.files; ++i) {
    const std::string name = std::to_string(i) + ".jpg";
    std::filesystem::create_directories(folder / classes[static_cast<std::size_t>(i % kClasses)]);
    const auto file = tacit::test::jpeg_of(photograph(words, i), 85);
    tacit::test::write_file(folder / classes[static_cast<std::size_t>(i % kClasses)] / name, file);
    bytes += file.size();
    list.add(static_cast<std::size_t>(i % kClasses), name);
  }
  std::printf("%d JPEGs of %d x %d, %.0f kB each; samples of %d x %d\n", words.files, words.width,
              words.height, static_cast<double>(bytes) / words.files / 1000, words.size, words.size);
  return list;
}

// The one that asks decodes too.
Rate decoded(const Words& words, const tacit::ImageList& list, int threads) {
  tacit::ImageSamples samples(list, {words.size, true, 0.08, true}, 0, threads - 1);
  std::vector<std::uint32_t> all(samples.size());
  std::iota(all.begin(), all.end(), 0U);
  tacit::Batch batch;
  std::int64_t epoch = 0;
  return rate_of(words.files, [&] { samples.gather({all, epoch++, 1}, batch); });
}

Rate trained(const Words& words, const char* model_name) {
  tacit::ModelRegistry models("model");
  tacit::torch::add_models(models, 1);
  const tacit::ImageShape shape{3, words.size, words.size};
  const auto model = tacit::make_model(models, model_name, {shape, kClasses, 1});
  const tacit::Batch batch{shape, std::vector<float>(kBatch * shape.size(), 0.5F),
                           std::vector<std::int64_t>(kBatch, 1)};
  return rate_of(kBatch, [&] { model->compute_gradient(batch); });
}

double megabytes_in_use() {
  const struct mallinfo2 memory = ::mallinfo2();
  return static_cast<double>(memory.uordblks + memory.hblkhd) / 1e6;
}

void list_many(const Words& words) {
  const tacit::test::TempDir dir;
  const auto file = tacit::test::jpeg_of(tacit::test::smooth_image(16, 16, 0));
  for (int i = 0; i < words.listed; ++i) {
    const auto folder = dir.path() / std::to_string(i % kFolders);
    if (i < kFolders) std::filesystem::create_directory(folder);
    tacit::test::write_file(folder / ("picture_" + std::to_string(i) + ".jpg"), file);
  }
  const double before = megabytes_in_use();
  tacit::DataPair data;
  const double first = seconds_of([&] { data = tacit::load_dataset("images:path=" + dir.path().string()); });
  const double taken = megabytes_in_use() - before;
  const double again = seconds_of([&] { data = tacit::load_dataset("images:path=" + dir.path().string()); });
  const double known = seconds_of([&] { data.train.samples->hash(1); });
  std::printf(
      "\n%d files in %d folders: listed in %.3f s, again in %.3f s, %.1f MB; told from others in %.3f s\n",
      words.listed, kFolders, first, again, taken, known);
}

}  // namespace

int main(int argc, char** argv) {
  Words words;
  int at = 1;
  for (int* word : {&words.files, &words.width, &words.height, &words.size, &words.listed})
    if (at < argc) *word = std::max(1, std::atoi(argv[at++]));
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const tacit::test::TempDir dir;
  const tacit::ImageList list = photographs(words, dir.path());
  double most = 0;
  std::printf("\nthreads   files/s   files per second of a core\n");
  for (int threads = 1; threads <= cores; threads *= 2) {
    const Rate rate = decoded(words, list, threads);
    std::printf("%7d  %8.0f   %26.0f\n", threads, rate.by_clock, rate.by_core);
    most = std::max(most, rate.by_core);
  }
  std::printf("\nmodel     samples/s   samples per second of a core   decoded / taken, by cores\n");
  for (const char* model : {"cnn", "resnet18", "resnet50"}) {
    const Rate rate = trained(words, model);
    std::printf("%-8s  %9.1f   %28.1f   %25.1f\n", model, rate.by_clock, rate.by_core, most / rate.by_core);
  }
  if (words.listed > kFolders) list_many(words);
  return 0;
}
