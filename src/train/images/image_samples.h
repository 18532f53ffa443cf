// SPDX-License-Identifier: MIT
#pragma once

#include "tacit/core/rng.h"
#include "tacit/train/samples.h"
#include "train/data/batch_maker.h"
#include "train/images/bad_files.h"
#include "train/images/image_list.h"

namespace tacit {

// What of an image is shown, and how large.
struct ImageLook {
  int size = 64;             // pixels along each side
  bool random_crop = false;  // or the middle
  double area = 1;           // of an image, the least that a random crop shows
  bool flip = false;         // mirror every other one, by lot
};

// Images in files, which are decoded when they are wanted. A file that cannot be used is replaced by the one after it
// in the list, behind the last by the first: which one that is depends on the files alone.
//
// Threads  any; decodes on threads of its own.
// Errors   InvalidConfig where more than a share of the files is bad.
class ImageSamples final : public Samples {
 public:
  ImageSamples(ImageList files, const ImageLook& look, double bad_share, int threads);

  std::size_t size() const override { return files_.size(); }
  std::vector<std::uint32_t> labels() const override { return files_.labels(); }
  // By the names, sizes and times of the files: reading a million of them takes longer than many a run.
  std::uint64_t hash(std::uint64_t before) const override;
  void gather(const Wanted& wanted, Batch& out) override;
  int batches_ahead() const override { return 2; }
  void expect(const Wanted& wanted) override { maker_.expect(wanted); }
  std::vector<std::string> take_warnings(bool at_end) override { return bad_.take_warnings(at_end); }

 private:
  void fill(const Wanted& wanted, std::size_t slot, Batch& batch);
  void show(std::size_t file, Rng rng, std::span<float> out) const;

  const ImageList files_;
  const ImageLook look_;
  BadFiles bad_;
  BatchMaker maker_;  // last: its threads use the others
};

}  // namespace tacit
