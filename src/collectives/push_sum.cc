// SPDX-License-Identifier: MIT
#include "tacit/collectives/push_sum.h"

#include <array>
#include <bit>
#include <utility>

namespace tacit {

bool PushSum::give(int peer, FloatView x) {
  if (errand_.back()) end(x);
  if (errand_.out()) return false;
  if (rule_ == Rule::kWeighted) {
    kernels::scale(0.5F, x);
    weight_ /= 2;
  }
  out_.assign(x);
  out_weight_ = weight_;
  errand_.begin(comm_, [this, peer] { box_.send(peer, out_.view(), out_weight_); });
  return true;
}

void PushSum::restore(FloatView z) const {
  if (x_) x_->copy_to(z);
}

void PushSum::collect(FloatView x) {
  if (std::unique_ptr<Letterbox::Letters> letters = box_.take()) {
    kernels::add(letters->sum.view(), x);
    weight_ += letters->weight;
    box_.recycle(std::move(letters));
  }
  if (x_) x_->assign(x);
  if (weight_ != 1) kernels::scale(static_cast<float>(1 / weight_), x);
  if (!x_) weight_ = 1;
}

void PushSum::end(FloatView x) {
  if (!errand_.out() || errand_.end() || rule_ == Rule::kUnweighted) return;
  kernels::add(out_.view(), x);
  weight_ += out_weight_;
}

void PushSum::close(FloatView z) {
  restore(z);
  end(z);
  comm_.barrier();  // every letter is in its box
  box_.close();
  collect(z);
}

void PushSum::mean(Comm& comm, FloatView z) const {
  restore(z);
  comm.mean(z);
  if (rule_ == Rule::kUnweighted) return;
  std::array<float, 1> weight{static_cast<float>(weight_)};
  comm.mean(weight);
  kernels::scale(1 / weight[0], z);
}

void PushSum::save(StateWriter& state) {
  const bool returned = errand_.out() && !errand_.end();  // to a rank that was lost
  comm_.barrier();                                        // every letter is in its box
  std::unique_ptr<Letterbox::Letters> letters = box_.take();
  if (!letters) letters = box_.blank();
  if (returned && rule_ == Rule::kWeighted) {
    letters->count++ == 0 ? letters->sum.assign(out_.view()) : kernels::add(out_.view(), letters->sum.view());
    letters->weight += out_weight_;
  }
  if (x_) state.write("push_sum.x", ConstFloatView(x_->view()));
  state.write("push_sum.weight", std::bit_cast<std::uint64_t>(weight_));
  state.write("push_sum.letters", static_cast<std::uint64_t>(letters->count));
  state.write("push_sum.letters_weight", std::bit_cast<std::uint64_t>(letters->weight));
  if (letters->count == 0) return box_.recycle(std::move(letters));
  state.write("push_sum.letters_sum", ConstFloatView(letters->sum.view()));
  box_.put_back(std::move(letters));
}

void PushSum::load(StateReader& state) {
  if (x_) state.read("push_sum.x", x_->view());
  weight_ = std::bit_cast<double>(state.number("push_sum.weight"));
  std::unique_ptr<Letterbox::Letters> letters = box_.blank();
  letters->count = static_cast<std::int64_t>(state.number("push_sum.letters"));
  letters->weight = std::bit_cast<double>(state.number("push_sum.letters_weight"));
  if (letters->count == 0) return;
  state.read("push_sum.letters_sum", letters->sum.view());
  box_.put_back(std::move(letters));
}

}  // namespace tacit
