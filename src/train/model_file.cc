// SPDX-License-Identifier: MIT
#include "train/model_file.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "tacit/core/error.h"

namespace tacit {
namespace {

constexpr const char* kSpec = "tacit.model";
constexpr const char* kInput = "tacit.input";
constexpr const char* kClasses = "tacit.classes";

// Where the values of shapes() are: tensors(), then buffers().
std::vector<FloatView> places(Model& model) {
  std::vector<FloatView> all;
  for (const Slice& each : model.tensors()) all.push_back(part(model.params(), each));
  for (const FloatView each : model.buffers()) all.push_back(each);
  return all;
}

}  // namespace

ModelCopy::ModelCopy(Model& model, Metadata about)
    : ModelCopy(model.shapes(), places(model), std::move(about)) {}

ModelCopy::ModelCopy(std::vector<TensorShape> shapes, const std::vector<FloatView>& values, Metadata about)
    : shapes_(std::move(shapes)), about_(std::move(about)) {
  for (const FloatView each : values) {
    values_.push_back({host_memory(each.size_bytes()), each.size()});
    copy(each, FloatView(values_.back().floats()));
  }
  TACIT_CHECK(values_.size() == shapes_.size(), "a model names all of its tensors, or none");
}

std::uint32_t ModelCopy::write(const std::filesystem::path& file) const {
  std::vector<SavedTensor> tensors;
  for (std::size_t i = 0; i < shapes_.size(); ++i)
    tensors.push_back({shapes_[i], ConstFloatView(values_[i].floats())});
  return write_safetensors(file, tensors, about_);
}

Metadata describe_model(const std::string& spec, const ModelContext& context) {
  const ImageShape& in = context.input;
  return {{"format", "pt"},
          {kSpec, spec},
          {kInput,
           std::to_string(in.channels) + " " + std::to_string(in.height) + " " + std::to_string(in.width)},
          {kClasses, std::to_string(context.classes)}};
}

DescribedModel described_in(const std::filesystem::path& file, const Metadata& about) {
  const auto value = [&](const char* key) {
    const auto found = about.find(key);
    return std::istringstream(found == about.end() ? "" : found->second);
  };
  DescribedModel model;
  ImageShape& in = model.context.input;
  model.spec = value(kSpec).str();
  value(kInput) >> in.channels >> in.height >> in.width;
  value(kClasses) >> model.context.classes;
  if (model.spec.empty() || in.channels < 1 || in.height < 1 || in.width < 1 || model.context.classes < 1)
    throw InvalidConfig(
        file.string() +
        " does not say what model it is of: `tacit train --out` did not write it; say --model, such as "
        "--model cnn");
  return model;
}

void load_model(const std::filesystem::path& file, Model& model) {
  const SafetensorsFile saved(file);
  const std::vector<TensorShape> shapes = model.shapes();
  for (const std::string& name : saved.float_names())
    if (std::none_of(shapes.begin(), shapes.end(), [&](const TensorShape& s) { return s.name == name; }))
      throw InvalidConfig(file.string() + ": it has a tensor '" + name +
                          "', which the model has not; is it another model's?");
  const std::vector<FloatView> into = places(model);
  for (std::size_t i = 0; i < shapes.size(); ++i) saved.read(shapes[i], into[i]);
}

}  // namespace tacit
