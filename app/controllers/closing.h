// Closing the window: asks about results that are in no file, and saves them if wanted.
#pragma once

#include <cstddef>
#include <string>

#include "app/controllers/files_controller.h"
#include "app/controllers/session_state.h"

namespace app {

/// What would be lost, and where it can go.
struct CloseQuestion {
  bool open = false;
  bool saving = false;
  std::size_t unsaved = 0;
  std::string path;  // where Save writes
};
enum class CloseAnswer { None, Save, Discard, Stay };

class Closing {
 public:
  /// `files` and `state` outlive it.
  Closing(FilesController& files, const SessionState& state) : files_(files), state_(state) {}

  /// True = nothing would be lost: close now. While a save is in progress, whoever ordered it, the
  /// window waits for it instead of asking.
  bool ask();
  /// True = close now.
  bool answer(CloseAnswer answer);
  /// After Save: whether something has changed, and whether to close. It stays if the file could
  /// not be written, which a notice says, and asks again if more results came meanwhile.
  struct Step {
    bool changed = false;
    bool close = false;
  };
  Step tick();
  const CloseQuestion& question() const { return question_; }

 private:
  FilesController& files_;
  const SessionState& state_;
  CloseQuestion question_;
};

}  // namespace app
