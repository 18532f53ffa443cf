// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <sstream>

#include "cli/completion.h"
#include "tacit/core/version.h"

namespace tacit::cli {
namespace {

constexpr const char* kEnd = R"(.SH CONFIG FILES
.B \-\-config
names a file with a line of
.I option = value
for each option, without the dashes:
.PP
.nf
strategy = "local:period=8"
workers = 4    # a remark
quiet = true
.fi
.PP
What is written on the command line wins over the file, and both win over an experiment.
A name that is no option of the command is refused.
.SH EXIT STATUS
.TP
.B 0
done
.TP
.B 1
failed
.TP
.B 2
the user must change something; the message says what
.TP
.B 3
a peer was lost
.TP
.B 130
interrupted
.SH FILES
.TP
.I share/tacit/clusters
cluster files that
.B \-\-cluster
finds by name
.TP
.I share/tacit/experiments
experiments that
.B \-\-experiment
finds by name
.SH SEE ALSO
.BR mpirun (1),
.BR ssh (1)
)";

// A text for roff: no line of it is a request, and no dash a hyphen.
std::string roff(const std::string& text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '-' || c == '\\') out += c == '-' ? "\\" : "\\e";
    if (c != '\\') out += c;
    line_begins = c == '\n';
  }
  return out;
}

std::string option_text(const OptionOutline& o) {
  std::string names;
  if (!o.short_name.empty()) names += "-" + o.short_name;
  for (const std::string& name : o.long_names) names += (names.empty() ? "--" : ", --") + name;
  std::string text = fmt::format(".TP\n\\fB{}\\fR", roff(names));
  if (!o.type.empty()) text += fmt::format(" \\fI{}\\fR", o.type);
  if (!o.type.empty() && !o.fallback.empty()) text += fmt::format(" (default: {})", roff(o.fallback));
  return text + "\n" + roff(o.description) + "\n";
}

// Examples keep their lines.
std::string footer_text(const std::string& footer) {
  if (footer.empty()) return "";
  return ".PP\n.nf\n" + roff(footer) + "\n.fi\n";
}

std::string command_text(const CommandOutline& c) {
  std::string text = fmt::format(".SS tacit {}", c.name);
  for (const OptionOutline& o : c.places) text += " [" + o.name + "]";
  text += "\n" + roff(c.description) + ".\n";
  for (const OptionOutline& o : c.places)
    text += fmt::format(".TP\n\\fI{}\\fR\n{}\n", o.name, roff(o.description));
  for (const OptionOutline& o : c.options) text += option_text(o);
  return text + footer_text(c.footer);
}

}  // namespace

std::string man_page(const std::vector<CommandOutline>& commands) {
  const CommandOutline& program = commands.front();
  std::string text = fmt::format(".TH TACIT 1 \"\" \"tacit {}\" \"User commands\"\n", version());
  text += ".SH NAME\ntacit \\- distributed deep-learning training\n";
  text += ".SH SYNOPSIS\n.B tacit\n.I command\n[\\fIoptions\\fR]\n";
  text += ".SH DESCRIPTION\n" + roff(program.description) + ".\n" + footer_text(program.footer);
  text += ".SH OPTIONS\n";
  for (const OptionOutline& o : program.options) text += option_text(o);
  text += ".SH COMMANDS\n";
  for (std::size_t i = 1; i < commands.size(); ++i) text += command_text(commands[i]);
  return text + kEnd;
}

}  // namespace tacit::cli
