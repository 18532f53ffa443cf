// SPDX-License-Identifier: MIT
#pragma once

#include "tacit/train/dataset.h"

namespace tacit {

// Images in memory. What is wanted is there: nothing is drawn, nothing is begun ahead, nothing fails.
//
// Threads  immutable.
class MemorySamples final : public Samples {
 public:
  explicit MemorySamples(ImageBytes images);

  const ImageBytes& images() const { return images_; }
  std::size_t size() const override { return images_.size(); }
  std::vector<std::uint32_t> labels() const override {
    return {images_.labels.begin(), images_.labels.end()};
  }
  std::uint64_t hash(std::uint64_t before) const override;
  void gather(const Wanted& wanted, Batch& out) override;
  int batches_ahead() const override { return 0; }
  void expect(const Wanted& /*wanted*/) override {}
  std::vector<std::string> take_warnings(bool /*at_end*/) override { return {}; }

 private:
  const ImageBytes images_;
};

}  // namespace tacit
