// SPDX-License-Identifier: Apache-2.0
// Help pages with a usage line of our own (CLI11 before 2.4 cannot be told one).
#pragma once
#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

namespace cicada::cli {

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::string usage) : usage_(std::move(usage)) { column_width(30); }
  std::string make_usage(const CLI::App*, std::string) const override { return "\nUsage: " + usage_ + "\n"; }
  std::string make_footer(const CLI::App* app) const override { return CLI::Formatter::make_footer(app) + "\n"; }
  // "(Env:X) REQUIRED Excludes: …" is for the parser, not for people: only the value's name and the default.
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    std::string text = " " + option->get_type_name();
    text.resize(std::min(text.size(), text.find(':')));  // what values it takes: "N:FLOAT in [0 - 100]"
    if (option->get_positional() && text == " TEXT") text.clear();
    if (!option->get_default_str().empty()) text += "=" + option->get_default_str();
    return text;
  }

 private:
  std::string usage_;
};

}  // namespace cicada::cli
