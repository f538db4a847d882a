// SPDX-License-Identifier: Apache-2.0
#include "top/app.h"

namespace cicada::top {

struct App::State {
  std::string title;
  AppPorts ports;
};

App::App(std::string title, AppPorts ports) : state_(new State{std::move(title), std::move(ports)}) {}
App::~App() = default;
void App::update(std::shared_ptr<const profile::ProfileSnapshot>, sink::PageState) {}
void App::add_output(std::string_view) {}
bool App::press(const Input& input) { return input.letter != U'q'; }
void App::draw(Grid& grid, bool) { grid.put(0, 0, state_->title); }

}  // namespace cicada::top
