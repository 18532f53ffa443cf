// SPDX-License-Identifier: MIT
#include "cli/complaints.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "tacit/core/error.h"
#include "tacit/core/text.h"

namespace tacit::cli {
namespace {

// What a value of an option has to be, by the name that CLI11 has for its type.
struct NumberKind {
  std::string_view type;
  std::string_view want;
  std::string_view example;
};
constexpr NumberKind kNumbers[] = {{"INT", "a whole number", "4"},
                                   {"UINT", "a whole number of 0 or more", "1"},
                                   {"FLOAT", "a number", "0.1"}};

const NumberKind* number_kind(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto found = std::find_if(std::begin(kNumbers), std::end(kNumbers),
                                  [&](const NumberKind& k) { return k.type == type; });
  return found == std::end(kNumbers) ? nullptr : found;
}

// The name that was written, as far as one can know: -n and --ranks are one option.
std::string name_of(const CLI::Option& option) { return option.get_name(); }

template <class Number>
std::errc parse(std::string_view text, Number& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end != text.data() + text.size()) return std::errc::invalid_argument;
  return error;
}

template <class Number>
std::string spelled_as(const std::string& name, const NumberKind& kind, const std::string& text) {
  Number value{};
  const std::errc error = parse(text, value);
  if (error == std::errc::result_out_of_range)
    throw InvalidConfig(
        fmt::format("{} {} is too large or too small a number to count with", name, shown(text)));
  if (error != std::errc{})
    throw InvalidConfig(
        fmt::format("{} {} is not {}, such as {}", name, shown(text), kind.want, kind.example));
  return fmt::format("{}", value);
}

// As CLI11 reads it without a surprise.
std::string spelled(const std::string& name, const NumberKind& kind, const std::string& text) {
  if (kind.type == "INT") return spelled_as<std::int64_t>(name, kind, text);
  if (kind.type == "UINT") return spelled_as<std::uint64_t>(name, kind, text);
  return spelled_as<double>(name, kind, text);
}

std::string check_switch(const std::string& name, const std::string& text) {
  for (const char* word : {"true", "false", "1", "0", "yes", "no"})
    if (text == word) return text;
  throw InvalidConfig(fmt::format("{}={}: {} is a switch; write it without a value, or leave it out", name,
                                  shown(text), name));
}

bool is_hidden(const CLI::Option& option) { return option.get_group().empty(); }

// The option whose name begins the error's text, up to a mark; nothing where there is none.
const CLI::Option* option_in(const CLI::App& app, std::string_view text, std::string_view mark) {
  const auto end = text.find(mark);
  if (end == std::string_view::npos) return nullptr;
  return app.get_option_no_throw(std::string(text.substr(0, end)));
}

std::string explain_option(const CLI::App& app, const CLI::App& at, const std::string& extra) {
  const std::string name = extra.substr(0, extra.find('='));
  const std::vector<std::string> outside = app.remaining(false);
  const bool before_command = std::find(outside.begin(), outside.end(), extra) != outside.end();
  if (&at != &app && before_command && at.get_option_no_throw(name) != nullptr)
    return fmt::format("'{}' is an option of tacit {}; write it after {}", name, at.get_name(),
                       at.get_name());
  const std::string near = nearest(name, option_names(at));
  return fmt::format("unknown option '{}'{}", shown(extra),
                     near.empty() ? "" : "; did you mean '" + near + "'?");
}

std::string explain_extra(const CLI::App& app, const std::string& extra) {
  const CLI::App& at = innermost(app);
  if (extra.starts_with("-")) return explain_option(app, at, extra);
  if (&at == &app) return unknown_name("command", shown(extra), command_names(app));
  return fmt::format("'{}' was not expected", shown(extra));
}

std::string explain_count(const CLI::App& at, const std::string& what) {
  const CLI::Option* option = option_in(at, what, ":");
  if (option == nullptr) return what;
  if (option->count() > 1)
    return fmt::format("{} is given {} times; give it once", name_of(*option), option->count());
  const NumberKind* kind = number_kind(*option);
  if (kind == nullptr) return fmt::format("{} wants a value", name_of(*option));
  return fmt::format("{} wants {}, such as {} {}", name_of(*option), kind->want, name_of(*option),
                     kind->example);
}

std::string explain_required(const CLI::App& app, const CLI::App& at, const std::string& what) {
  if (&at == &app) return fmt::format("say what to do: {}", fmt::join(command_names(app), ", "));
  const CLI::Option* option = option_in(at, what, " is required");
  if (option == nullptr) return what;
  if (option->get_positional())
    return fmt::format("{} wants one of: {}", at.get_name(), option->get_description());
  return fmt::format("{} wants {}: {}", at.get_name(), name_of(*option), option->get_description());
}

// "--epochs excludes --steps", "--strategies requires --cluster"
std::string explain_pair(std::string what, const std::string& verb, const std::string& form) {
  const auto at = what.find(verb);
  if (at == std::string::npos) return what;
  return fmt::format(fmt::runtime(form), what.substr(0, at), what.substr(at + verb.size()));
}

// What check_values let through: an int that has 64 bits.
std::string explain_conversion(const std::string& what) {
  const std::string mark = "Could not convert: ";
  if (!what.starts_with(mark)) return what;
  std::string rest = what.substr(mark.size());
  if (const auto equals = rest.find(" = "); equals != std::string::npos) rest.replace(equals, 3, " ");
  return shown(rest) + " is too large or too small a number to count with";
}

template <class Kind>
bool is_a(const CLI::ParseError& error) {
  return dynamic_cast<const Kind*>(&error) != nullptr;
}

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& at = innermost(app);
  const std::string what = error.what();
  const std::vector<std::string> extras = app.remaining(true);
  if (!extras.empty() && (is_a<CLI::ExtrasError>(error) || &at == &app))
    return explain_extra(app, extras.front());
  if (is_a<CLI::ArgumentMismatch>(error)) return explain_count(at, what);
  if (is_a<CLI::RequiredError>(error)) return explain_required(app, at, what);
  if (is_a<CLI::ExcludesError>(error))
    return explain_pair(what, " excludes ", "{} and {} exclude each other; give one of them");
  if (is_a<CLI::RequiresError>(error)) return explain_pair(what, " requires ", "{} needs {}, too");
  if (is_a<CLI::ConversionError>(error)) return explain_conversion(what);
  return what;
}

}  // namespace

bool is_switch(const CLI::Option& option) { return option.get_expected_max() == 0; }

const CLI::App& innermost(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : *chosen.front();
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (is_hidden(*option)) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!sub->get_group().empty()) names.push_back(sub->get_name());
  return names;
}

const CLI::App* command_named(const CLI::App& app, const std::string& name) {
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    if (sub->get_name() == name) return sub;
  return nullptr;
}

void check_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option == app.get_help_ptr() || option == app.get_version_ptr()) continue;
    const std::string name = name_of(*option);
    if (const NumberKind* kind = number_kind(*option))
      option->transform([=](const std::string& text) { return spelled(name, *kind, text); });
    if (is_switch(*option))
      option->transform([=](const std::string& text) { return check_switch(name, text); });
  }
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) check_values(*sub);
}

std::string complaint(const CLI::App& app, const CLI::ParseError& error) {
  return with_help(explain(app, error), innermost(app));
}

std::string with_help(const std::string& sentence, const CLI::App& at) {
  const std::string help = at.get_parent() == nullptr ? "tacit --help" : "tacit " + at.get_name() + " --help";
  return sentence + (sentence.ends_with('?') ? " See " : "; see ") + help;
}

}  // namespace tacit::cli
