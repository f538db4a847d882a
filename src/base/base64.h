// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace cicada {

std::string base64(std::string_view bytes);  // RFC 4648, with "=" at its end

}  // namespace cicada
