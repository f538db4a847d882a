// SPDX-License-Identifier: Apache-2.0
// Help pages of 80 columns: what a command is for, its usage line, options by group with their defaults.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace cicada::cli {

class HelpFormatter : public CLI::FormatterBase {
 public:
  explicit HelpFormatter(std::string usage) : usage_(std::move(usage)) {}
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;

 private:
  std::string usage_;
};

}  // namespace cicada::cli
