// SPDX-License-Identifier: Apache-2.0
// Shows a page or a picture in the user's browser.
#pragma once
#include <string>

#include "cli/invoking_user.h"

namespace cicada::cli {

// `what`: a file or an address. As the user; warns if that is not possible.
void open_in_browser(const std::string& what, const InvokingUser& user);

}  // namespace cicada::cli
