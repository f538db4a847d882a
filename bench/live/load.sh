#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# load.sh build|storm: one CPU's work with many stacks: the compiler, again and again. build: of a file as people's are, some seconds each. storm: of a small one, so that
# there are some twenty programs a second.
file=$(mktemp --suffix=.cc)
trap 'rm -f "$file" "$file.o"' EXIT
level=-O1
printf '#include <map>\n#include <string>\n#include <vector>\nint f(std::map<std::string, std::vector<int>>& m) { for (auto& [k, v] : m) v.push_back(static_cast<int>(k.size())); return static_cast<int>(m.size()); }\n' >"$file"
if [[ $1 == build ]]; then
  level=-O2
  printf '#include <functional>\n#include <regex>\n#include <unordered_map>\nstd::string g(const std::string& s) { return std::regex_replace(s, std::regex("a(b|c)*[d-f]+"), "x"); }\n' >>"$file"
  for i in 1 2 3 4; do printf 'std::unordered_map<std::string, std::map<int, std::vector<std::function<int(int)>>>> m%s;\nint h%s(int i) { m%s["x"][i].push_back([=](int j) { return i + j; }); return static_cast<int>(m%s.size()); }\n' $i $i $i $i; done >>"$file"
fi
while :; do g++ -std=c++17 $level -c "$file" -o "$file.o"; done
