#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# JavaScript, V8's C++, JavaScript.
source "$(dirname "$0")/lib.sh"
record_foreign node
