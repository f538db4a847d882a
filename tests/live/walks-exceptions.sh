#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Exceptions in flight.
source "$(dirname "$0")/lib.sh"
record_truth -- exceptions 2
