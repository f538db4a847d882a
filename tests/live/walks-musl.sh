#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A libc without CFI: below main, and where the time goes.
source "$(dirname "$0")/lib.sh"
record_foreign musl
record_foreign musl_static
record_foreign musl_work 2999
record_foreign musl_work_static 2999
