// SPDX-License-Identifier: MIT
#include "cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

namespace tacit::cli {
namespace {

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

// Between single quotes, for bash and zsh.
std::string quoted(const std::string& text) { return "'" + replaced(text, "'", R"('\'')") + "'"; }

// The first sentence: enough beside a name.
std::string brief(const std::string& text) { return text.substr(0, text.find_first_of(";:(\n")); }

std::vector<std::string> words_of(const OptionOutline& o) {
  std::vector<std::string> words;
  for (const std::string& name : o.long_names) words.push_back("--" + name);
  if (!o.short_name.empty()) words.push_back("-" + o.short_name);
  return words;
}

std::string bash_offer(const Values& values) {
  if (values.words.empty() && !values.files) return "return";
  std::string offer;
  if (values.files) offer += R"(compopt -o filenames; COMPREPLY+=($(compgen -f -- "$cur")); )";
  if (!values.words.empty())
    offer += fmt::format(R"(COMPREPLY+=($(compgen -W "{}" -- "$cur")); )", fmt::join(values.words, " "));
  return offer + "return";
}

std::string zsh_values(const OptionOutline& o) {
  if (o.type.empty()) return "";
  const std::string words = fmt::format("({})", fmt::join(o.values.words, " "));
  if (o.values.files && !o.values.words.empty())
    return fmt::format(R"(:{}:{{_alternative "names\:name\:{}" "files\:file\:_files"}})", o.name, words);
  if (o.values.files) return fmt::format(":{}:_files", o.name);
  return fmt::format(":{}:{}", o.name, o.values.words.empty() ? "" : words);
}

// Square brackets and colons are zsh's own here.
std::string zsh_text(const std::string& text) {
  return replaced(replaced(replaced(brief(text), "[", "\\["), "]", "\\]"), ":", "\\:");
}

std::string fish_values(const OptionOutline& o) {
  if (o.type.empty()) return "";
  std::string text = o.values.files ? " -r -F" : " -x";
  if (!o.values.words.empty())
    text += fmt::format(" -a {}", quoted(fmt::format("{}", fmt::join(o.values.words, " "))));
  return text;
}

}  // namespace

std::string bash_completion(const std::vector<CommandOutline>& commands) {
  std::vector<std::string> names;
  std::map<std::string, Values> after;  // an option that takes a value
  std::string cases;
  for (const CommandOutline& c : commands) {
    std::vector<std::string> options;
    for (const OptionOutline& o : c.options)
      for (const std::string& word : words_of(o)) {
        options.push_back(word);
        if (!o.type.empty()) after.emplace(word, o.values);
      }
    if (c.name.empty()) continue;
    names.push_back(c.name);
    std::string places;
    for (std::size_t i = 0; i < c.places.size() && !c.places[i].values.words.empty(); ++i)
      places += fmt::format("      if (( COMP_CWORD == {} )); then {}; fi\n", i + 2,
                            bash_offer(c.places[i].values));
    cases += fmt::format("    {})\n{}      COMPREPLY=($(compgen -W \"{}\" -- \"$cur\")) ;;\n", c.name, places,
                         fmt::join(options, " "));
  }
  std::string values;
  for (const auto& [word, offer] : after) values += fmt::format("    {}) {} ;;\n", word, bash_offer(offer));
  return fmt::format(R"(# bash completion for tacit, as `tacit completion bash` prints it
_tacit() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}
  COMPREPLY=()
  if (( COMP_CWORD == 1 )); then COMPREPLY=($(compgen -W "{} --help --version" -- "$cur")); return; fi
  case $prev in
{}  esac
  case ${{COMP_WORDS[1]}} in
{}  esac
}}
complete -o bashdefault -o default -F _tacit tacit
)",
                     fmt::join(names, " "), values, cases);
}

std::string zsh_completion(const std::vector<CommandOutline>& commands) {
  std::string names;
  std::string cases;
  for (const CommandOutline& c : commands) {
    if (c.name.empty()) continue;
    names += fmt::format("    {}\n", quoted(c.name + ":" + zsh_text(c.description)));
    cases += fmt::format("    {})\n      _arguments", c.name);
    for (const OptionOutline& o : c.options)
      for (const std::string& word : words_of(o))
        cases +=
            " \\\n        " + quoted(fmt::format("{}[{}]{}", word, zsh_text(o.description), zsh_values(o)));
    for (const OptionOutline& o : c.places) cases += " \\\n        " + quoted(":" + zsh_values(o).substr(1));
    cases += " ;;\n";
  }
  return fmt::format(R"(#compdef tacit
# zsh completion for tacit, as `tacit completion zsh` prints it
_tacit() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
{}  esac
}}
_tacit "$@"
)",
                     names, cases);
}

std::string fish_completion(const std::vector<CommandOutline>& commands) {
  std::string text =
      "# fish completion for tacit, as `tacit completion fish` prints it\ncomplete -c tacit -f\n";
  for (const CommandOutline& c : commands) {
    if (c.name.empty()) continue;
    text += fmt::format("complete -c tacit -n __fish_use_subcommand -a {} -d {}\n", c.name,
                        quoted(brief(c.description)));
    const std::string where = fmt::format("complete -c tacit -n '__fish_seen_subcommand_from {}'", c.name);
    for (const OptionOutline& o : c.options) {
      std::string names = o.short_name.empty() ? "" : " -s " + o.short_name;
      for (const std::string& name : o.long_names) names += " -l " + name;
      text += fmt::format("{}{}{} -d {}\n", where, names, fish_values(o), quoted(brief(o.description)));
    }
    for (const OptionOutline& o : c.places)
      if (!o.values.words.empty())
        text += fmt::format("{} -a {}\n", where, quoted(fmt::format("{}", fmt::join(o.values.words, " "))));
  }
  return text;
}

}  // namespace tacit::cli
