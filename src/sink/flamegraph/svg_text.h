// SPDX-License-Identifier: Apache-2.0
// Names of strangers inside XML, HTML and JSON. Input of any bytes; output is always well-formed UTF-8.
#pragma once
#include <string>
#include <string_view>

namespace cicada::sink {

// For XML and HTML text and attribute values: & < > " ' escaped; what XML cannot hold at all (control characters, U+FFFE)
// becomes U+FFFD, line breaks become spaces.
std::string xml_text(std::string_view text);
// A JSON string, quotes included, that is also inert inside <script> and inside XML: < > & are \u escapes.
std::string json_text(std::string_view text);
// At most `letters` code points, the last one an ellipsis if anything was cut. Cuts between code points.
std::string shortened(std::string_view text, size_t letters);

}  // namespace cicada::sink
