#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Through _dl_runtime_resolve and the PLT.
source "$(dirname "$0")/lib.sh"
record_truth -- lazy_binding 1.5
