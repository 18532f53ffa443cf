// SPDX-License-Identifier: MIT
#include "protocols/push_sum.h"

#include <array>
#include <bit>
#include <utility>

namespace tacit {

bool PushSum::give(int peer, FloatView z) {
  if (errand_.back()) end(z);
  if (errand_.out()) return false;
  out_.take(z);
  if (rule_ == Rule::kWeighted) {
    weight_ /= 2;
    kernels::scale(static_cast<float>(weight_), out_.view());
  }
  out_weight_ = weight_;
  errand_.begin([this, peer] { box_.send(peer, out_.view(), out_weight_); });
  return true;
}

void PushSum::add(ConstFloatView x, double weight, FloatView z) {
  const double sum = weight_ + weight;
  kernels::axpby(static_cast<float>(1 / sum), x, static_cast<float>(weight_ / sum), z);
  if (rule_ == Rule::kWeighted) weight_ = sum;
}

void PushSum::collect(FloatView z) {
  std::unique_ptr<Letterbox::Letters> letters = box_.take();
  if (!letters) return;
  add(letters->sum.view(), letters->weight, z);
  box_.recycle(std::move(letters));
}

void PushSum::end(FloatView z) {
  if (!errand_.out() || errand_.end() || rule_ == Rule::kUnweighted) return;
  add(out_.view(), out_weight_, z);
}

void PushSum::close(FloatView z) {
  end(z);
  comm_.barrier();  // every letter is in its box
  box_.close();
  collect(z);
}

void PushSum::mean(Collectives& comm, FloatView z) const {
  if (rule_ == Rule::kUnweighted) return comm.mean(z);
  std::array<float, 1> weight{static_cast<float>(weight_)};
  kernels::scale(weight[0], z);
  comm.mean(z);
  comm.mean(weight);
  kernels::scale(1 / weight[0], z);
}

void PushSum::save(StateWriter& state) {
  const bool returned = errand_.out() && !errand_.end();  // to a rank that was lost
  comm_.barrier();                                        // every letter is in its box
  std::unique_ptr<Letterbox::Letters> letters = box_.take();
  comm_.barrier();  // nobody's next letter is among them
  if (!letters) letters = box_.blank();
  if (returned && rule_ == Rule::kWeighted) {
    letters->count++ == 0 ? letters->sum.take(out_.view()) : kernels::add(out_.view(), letters->sum.view());
    letters->weight += out_weight_;
  }
  state.write("push_sum.weight", std::bit_cast<std::uint64_t>(weight_));
  state.write("push_sum.letters", static_cast<std::uint64_t>(letters->count));
  state.write("push_sum.letters_weight", std::bit_cast<std::uint64_t>(letters->weight));
  if (letters->count == 0) return box_.recycle(std::move(letters));
  state.write("push_sum.letters_sum", ConstFloatView(letters->sum.view()));
  box_.put_back(std::move(letters));
}

void PushSum::load(StateReader& state) {
  weight_ = std::bit_cast<double>(state.number("push_sum.weight"));
  std::unique_ptr<Letterbox::Letters> letters = box_.blank();
  letters->count = static_cast<std::int64_t>(state.number("push_sum.letters"));
  letters->weight = std::bit_cast<double>(state.number("push_sum.letters_weight"));
  if (letters->count > 0) {
    state.read("push_sum.letters_sum", letters->sum.view());
    box_.put_back(std::move(letters));
  }
  comm_.barrier();  // nobody's next letter comes before these are back
}

}  // namespace tacit
