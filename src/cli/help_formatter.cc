// SPDX-License-Identifier: Apache-2.0
#include "cli/help_formatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/clean_text.h"

namespace cicada::cli {
namespace {

constexpr size_t kColumns = 80, kTexts = 30;  // where the texts of options begin

// Appends words, `used` columns of the line being taken; further lines begin at column `indent`.
void append_wrapped(std::string_view text, size_t used, size_t indent, std::string& out) {
  for (bool first = true; !text.empty(); first = false) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!first && used + 1 + count_letters(word) > kColumns) {
      out += fmt::format("\n{:{}}", "", indent);
      used = indent;
    } else if (!first) {
      out += ' ';
      ++used;
    }
    out += word;
    used += count_letters(word);
  }
  out += '\n';
}

// Lines that fit stay as they are: tables and examples.
void append_paragraphs(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    out.append(indent, ' ');
    append_wrapped(line.substr(indent), indent, indent, out);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void append_entry(const std::string& name, const std::string& text, std::string& out) {
  out += "  " + name;
  size_t used = 2 + count_letters(name);
  if (used + 2 > kTexts) {
    out += '\n';
    used = 0;
  }
  out.append(kTexts - used, ' ');
  append_wrapped(text, kTexts, kTexts, out);
}

std::string name_of(const CLI::Option& option) {
  std::string name = option.get_name(option.get_positional(), !option.get_positional());
  name.resize(std::min(name.size(), name.find('{')));  // a flag's value
  for (size_t comma = 0; (comma = name.find(',', comma)) != std::string::npos; ++comma) name.insert(comma + 1, " ");
  // What values it takes is for the parser: "N:FLOAT in [0 - 100]". Of a positional the name says it.
  const std::string value = option.get_type_name().substr(0, option.get_type_name().find(':'));
  return option.get_type_size() == 0 || option.get_positional() || value.empty() ? name : name + " " + value;
}

std::string text_of(const CLI::Option& option) {
  std::string text = option.get_description();
  if (!option.get_default_str().empty()) text += fmt::format(" (default: {})", option.get_default_str());
  if (option.get_required() && !option.get_positional()) text += " (required)";
  return text;
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const {
  std::string out;
  append_paragraphs(app->get_description(), out);
  out += "\nUsage: " + usage_ + "\n";
  const auto append_options = [&](const std::string& title, auto belongs) {
    const auto options = app->get_options(belongs);
    if (options.empty()) return;
    out += "\n" + title + ":\n";
    for (const CLI::Option* option : options) append_entry(name_of(*option), text_of(*option), out);
  };
  append_options("Words", [](const CLI::Option* option) { return option->get_positional(); });
  for (const std::string& group : app->get_groups())
    append_options(group, [&](const CLI::Option* option) { return !option->get_positional() && option->get_group() == group; });
  if (const auto commands = app->get_subcommands({}); !commands.empty()) {
    out += "\nCommands:\n";
    for (const CLI::App* command : commands) append_entry(command->get_name(), command->get_description(), out);
  }
  if (!app->get_footer().empty()) out += "\n";
  append_paragraphs(app->get_footer(), out);
  return out;
}

}  // namespace cicada::cli
