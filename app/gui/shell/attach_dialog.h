// "Attach to a program": starts any program with the preloaded library, or reads the record of an
// earlier one, and shows what is known of its processes. Closing it, also with Escape, lets the
// watching go on.
#pragma once

#include <string>

#include "app/controllers/attach_controller.h"
#include "app/gui/controls/panel_context.h"

namespace app {

class AttachDialog {
 public:
  void open();
  void close() { open_ = false; }
  bool is_open() const { return open_; }
  /// `earlier`: programs to choose from.
  void draw(const PanelContext& context, const AttachController& attach,
            const RememberedPrograms& earlier);

 private:
  void draw_earlier(const PanelContext& context, const RememberedPrograms& earlier);
  void draw_fields(const PanelContext& context, const AttachController& attach);
  void draw_buttons(const PanelContext& context, const AttachController& attach);
  void draw_record(const PanelContext& context, const AttachController& attach);
  /// What is wrong with what is typed; empty = nothing.
  std::string mistake() const;
  AttachOrder order() const;

  bool open_ = false;
  bool focus_ = false;
  std::string command_;
  std::string working_folder_;
  std::string only_;
  std::string rank_;
  std::string hang_after_;
  std::string record_;
  bool core_dump_ = false;
  bool compare_memory_ = false;
  bool markers_ = false;
};

}  // namespace app
