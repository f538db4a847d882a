#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# C++ templates, Rust legacy and v0 manglings.
source "$(dirname "$0")/lib.sh"
record_truth -- names 1
