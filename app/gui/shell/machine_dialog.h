// "Where to run": this machine, or another that ssh reaches. Closing it, also with Escape, lets the
// connecting go on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/controllers/machine_controller.h"
#include "app/gui/controls/panel_context.h"

namespace app {

class MachineDialog {
 public:
  MachineDialog() = default;
  ~MachineDialog() { forget_answer(); }
  MachineDialog(const MachineDialog&) = delete;
  MachineDialog& operator=(const MachineDialog&) = delete;

  void open(MachineController& machine);
  void close();
  bool is_open() const { return open_; }
  /// Orders what is chosen; answers to ssh go to `machine` at once, never into a command.
  void draw(const PanelContext& context, MachineController& machine);

 private:
  /// What is typed or selected; empty = this machine.
  std::string target() const;
  void select(int index);
  void list(std::vector<std::string> hosts);
  void use_keys(bool& entered);
  void draw_list(const PanelContext& context, float height);
  void draw_field(const PanelContext& context);
  void draw_choices(const PanelContext& context, const MachineController& machine);
  void draw_launcher(const PanelContext& context);
  void draw_gpu(const PanelContext& context, const MachineStatus& status);
  /// Why the target cannot be connected with what is chosen; empty = it can.
  std::string refusal() const;
  void draw_buttons(const PanelContext& context, const MachineController& machine, bool entered);
  void draw_question(const PanelContext& context, MachineController& machine, bool entered);
  void draw_steps(const PanelContext& context, const MachineStatus& status);
  void forget_answer();

  bool open_ = false;
  std::vector<std::string> hosts_;  // as listed, after this machine
  int selected_ = 0;                // 0 = this machine, then `hosts_`
  std::string name_;                // typed; empty = the selected one counts
  ConnectOptions choice_;           // for the target
  std::string launcher_;            // the words of its launcher, as typed
  std::string launcher_flaw_;       // why they are no words; empty = they are
  std::string answer_;              // being typed
  std::uint64_t question_ = 0;      // that the focus was given to
  bool connecting_ = false;         // in the newest frame
  bool focus_ = false;
  bool scroll_ = false;
};

}  // namespace app
