#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Work with many stacks and many processes: a small C++ file compiled again and again.
file=$(mktemp --suffix=.cc)
trap 'rm -f "$file" "$file.o"' EXIT
printf '#include <map>\n#include <string>\n#include <vector>\nint f(std::map<std::string, std::vector<int>>& m) { for (auto& [k, v] : m) v.push_back(static_cast<int>(k.size())); return static_cast<int>(m.size()); }\n' >"$file"
while :; do g++ -std=c++17 -O1 -c "$file" -o "$file.o"; done
