#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A libc without CFI below main.
source "$(dirname "$0")/lib.sh"
record_foreign musl
record_foreign musl_static
