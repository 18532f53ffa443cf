// SPDX-License-Identifier: MIT
#include "checkpoint/manifest.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/hash.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr int kHexadecimal = 16;

std::uint64_t number_in(const Json& text) {
  return std::stoull(text.get<std::string>(), nullptr, kHexadecimal);
}

Manifest parse(const fs::path& file, const Json& json) {
  const int format = json.at("format").get<int>();
  Manifest m;
  m.version = json.at("tacit").get<std::string>();
  if (format != Manifest::kFormat)
    throw InvalidConfig(file.string() + " was written by tacit " + m.version + ", in format " +
                        std::to_string(format) + ", and this one reads format " +
                        std::to_string(Manifest::kFormat) + "; resume with that version");
  m.job = number_in(json.at("job"));
  m.step = json.at("step").get<std::int64_t>();
  m.ranks = json.at("ranks").get<int>();
  for (const auto& [name, value] : json.at("settings").items())
    m.settings.emplace_back(name, value.get<std::string>());
  for (const Json& each : json.at("files"))
    m.files.push_back({each.at("name").get<std::string>(), each.at("bytes").get<std::uint64_t>(),
                       static_cast<std::uint32_t>(number_in(each.at("crc32")))});
  if (m.step < 0 || m.ranks < 1) throw std::invalid_argument("counts");
  return m;
}

}  // namespace

const Manifest::File* Manifest::find(const std::string& name) const {
  const auto found = std::find_if(files.begin(), files.end(), [&](const File& f) { return f.name == name; });
  return found == files.end() ? nullptr : &*found;
}

std::string to_json_text(const Manifest& m) {
  Json json;
  json["format"] = Manifest::kFormat;
  json["tacit"] = m.version;
  json["job"] = hash_text(m.job);
  json["step"] = m.step;
  json["ranks"] = m.ranks;
  json["settings"] = Json::object();
  for (const auto& [name, value] : m.settings) json["settings"][name] = value;
  json["files"] = Json::array();
  for (const Manifest::File& f : m.files)
    json["files"].push_back({{"name", f.name}, {"bytes", f.bytes}, {"crc32", hash_text(f.crc).substr(8)}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Manifest read_manifest(const fs::path& file) {
  if (const std::error_code error = reading_error(file))
    throw InvalidConfig(unreadable(file, error) + "; resume from a checkpoint, which has it");
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  try {
    return parse(file, Json::parse(text));
  } catch (const Json::exception&) {  // these two: not what to_json_text writes
  } catch (const std::logic_error&) {
  }
  throw InvalidConfig(file.string() +
                      " is not the manifest of a checkpoint, or is damaged; resume from another");
}

std::vector<std::string> differences(const CheckpointSettings& then, const CheckpointSettings& now) {
  const auto shown = [](const std::string& value) {
    return value.empty() ? std::string("not given") : value;
  };
  std::vector<std::string> all;
  for (const auto& [name, value] : now) {
    const auto same = [&name = name](const auto& each) { return each.first == name; };
    const auto found = std::find_if(then.begin(), then.end(), same);
    if (found == then.end() || found->second == value) continue;
    all.push_back(name + " is " + shown(value) + " and was " + shown(found->second));
  }
  return all;
}

}  // namespace tacit
