// SPDX-License-Identifier: MIT
// The table of data sets.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "core/files.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"
#include "tacit/train/dataset.h"
#include "train/data/cifar10.h"
#include "train/data/idx.h"
#include "train/data/synthetic.h"
#include "train/images/images_info.h"

namespace tacit {
namespace {

namespace fs = std::filesystem;

constexpr int kMnistClasses = 10;
constexpr auto kUnbounded = std::numeric_limits<std::int64_t>::max();

using SlowHalf = std::function<BytesPair()>;
using FastHalf = std::function<SlowHalf(OptionReader&)>;

// Mean and spread of one channel, exact up to the last division: bytes are counted, not summed as floats.
void measure_channel(ImageBytes& data, std::size_t channel) {
  const auto plane = static_cast<std::size_t>(data.shape.height) * static_cast<std::size_t>(data.shape.width);
  std::array<std::uint64_t, 256> histogram{};
  for (std::size_t at = channel * plane; at < data.pixels.size(); at += data.shape.size())
    for (const std::uint8_t value : std::span(data.pixels).subspan(at, plane)) ++histogram[value];
  double sum = 0;
  double squares = 0;
  for (std::size_t value = 0; value < histogram.size(); ++value) {
    const double x = static_cast<double>(value) / 255.0;
    sum += x * static_cast<double>(histogram[value]);
    squares += x * x * static_cast<double>(histogram[value]);
  }
  const auto count = static_cast<double>(plane * data.size());
  const double mean = sum / count;
  data.mean[channel] = static_cast<float>(mean);
  data.spread[channel] = static_cast<float>(std::sqrt(std::max(0.0, squares / count - mean * mean)));
}

void measure(BytesPair& pair) {
  for (int c = 0; c < pair.train.shape.channels; ++c)
    measure_channel(pair.train, static_cast<std::size_t>(c));
  pair.test.mean = pair.train.mean;
  pair.test.spread = pair.train.spread;
}

// Keeps the first `limit` samples; 0 keeps all.
void cut(ImageBytes& data, std::size_t limit) {
  if (limit == 0 || limit >= data.size()) return;
  data.labels.resize(limit);
  data.pixels.resize(limit * data.shape.size());
}

// Puts the last `count` training samples in the place of the test set, so that choices can be made without looking at
// it.
void hold_out(BytesPair& pair, std::size_t count) {
  if (count == 0) return;
  ImageBytes& train = pair.train;
  if (count >= train.size())
    throw InvalidConfig("holdout=" + std::to_string(count) + " leaves nothing of " +
                        std::to_string(train.size()) + " training samples to train on; hold out fewer");
  const std::size_t kept = train.size() - count;
  pair.test.labels.assign(train.labels.begin() + static_cast<std::ptrdiff_t>(kept), train.labels.end());
  pair.test.pixels.assign(train.pixels.begin() + static_cast<std::ptrdiff_t>(kept * train.shape.size()),
                          train.pixels.end());
  cut(train, kept);
}

fs::path find_idx(const fs::path& directory, const std::string& stem, const std::string& remedy) {
  for (const char* ending : {"", ".gz"}) {
    fs::path file = directory / (stem + ending);
    const std::error_code error = reading_error(file);
    if (!error) return file;
    if (!is_missing(error))
      throw InvalidConfig(unreadable(file, error) + "; give path=DIR with files that you may read");
  }
  throw InvalidConfig((directory / stem).string() + " is missing, with and without .gz; " + remedy);
}

std::string size_of(const ImageShape& s) {
  return std::to_string(s.height) + " x " + std::to_string(s.width);
}

BytesPair read_mnist(const fs::path& directory, const std::string& remedy) {
  const auto part = [&](const std::string& name) {
    const fs::path images = find_idx(directory, name + "-images-idx3-ubyte", remedy);
    const fs::path labels = find_idx(directory, name + "-labels-idx1-ubyte", remedy);
    return read_idx(images, labels, kMnistClasses);
  };
  BytesPair pair{part("train"), part("t10k")};
  if (pair.train.shape != pair.test.shape)
    throw InvalidConfig(directory.string() + " holds train images of " + size_of(pair.train.shape) +
                        " pixels and t10k images of " + size_of(pair.test.shape) +
                        "; give a folder with the files of one set");
  return pair;
}

// A set that lies in files. `path` is required where there is no usual place.
FastHalf from_files(const std::string& usual_place, const std::string& remedy,
                    const std::function<BytesPair(const fs::path&, const std::string&)>& read) {
  return [=](OptionReader& options) -> SlowHalf {
    const std::string path = options.text("path", usual_place, {"folder of its files"});
    const auto limit = options.integer("limit", 0, 0, kUnbounded, {"training samples that are kept; 0: all"});
    const auto holdout = options.integer("holdout", 0, 0, kUnbounded,
                                         {"training samples that take the place of the test set; 0: none"});
    return [=, name = options.spec().name] {
      if (path.empty()) throw InvalidConfig(name + " has no path; " + remedy);
      if (const std::error_code error = listing_error(path))
        throw InvalidConfig("data set " + name + ": the folder " + unreadable(path, error) + "; " + remedy);
      BytesPair pair = read(path, remedy);
      hold_out(pair, static_cast<std::size_t>(holdout));
      cut(pair.train, static_cast<std::size_t>(limit));
      return pair;
    };
  };
}

SlowHalf synthetic(OptionReader& options) {
  return [o = read_synthetic_options(options)] { return make_synthetic(o); };
}

std::function<LoadData(OptionReader&)> measured(const FastHalf& prepare) {
  return [=](OptionReader& options) -> LoadData {
    return [load = prepare(options)](const LoadPlace&) -> DataPair {
      BytesPair pair = load();
      measure(pair);
      return {in_memory(std::move(pair.train)), in_memory(std::move(pair.test))};
    };
  };
}

Registry<DatasetInfo> make_table() {
  const auto read_cifar = [](const fs::path& directory, const std::string&) {
    return read_cifar10(directory);
  };
  return Registry<DatasetInfo>(
      "data set",
      {
          {"fashion-mnist", "70 000 grey images of clothing, 28 x 28, 10 classes", "arXiv:1708.07747",
           "fashion-mnist:limit=10000",
           measured(from_files("/usr/share/datasets/fashion-mnist",
                               "install the Debian package dataset-fashion-mnist or give path=DIR",
                               read_mnist))},
          {"mnist", "70 000 grey handwritten digits, 28 x 28, 10 classes",
           "LeCun, Bottou, Bengio, Haffner, Proc. IEEE 86(11), 1998", "mnist:path=data/mnist",
           measured(from_files("", "give path=DIR, the folder with MNIST's four IDX files", read_mnist))},
          {"cifar10", "60 000 colour images, 32 x 32, 10 classes",
           "Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009",
           "cifar10:path=data/cifar10",
           measured(from_files(
               "", "give path=DIR, the folder with the six .bin files of CIFAR-10's binary version",
               read_cifar))},
          {"synthetic", "smooth random prototypes with noise, any size; needs no file",
           "src/train/data/synthetic.h", "synthetic:samples=4096,size=8", measured(synthetic)},
          images_info(),
      });
}

}  // namespace

const Registry<DatasetInfo>& builtin_datasets() {
  static const Registry<DatasetInfo> table = make_table();
  return table;
}

DataPair load_dataset(std::string_view spec, const LoadPlace& place) {
  return builtin_datasets().make(
      spec, [](const DatasetInfo& each, OptionReader& o) { return each.prepare(o); })(place);
}

}  // namespace tacit
