#include "app/controllers/closing.h"

namespace app {

bool Closing::ask() {
  if (question_.saving) return false;
  // Left open while it saved, and now closed again: a second question would offer a second file.
  if (files_.saving()) {
    question_ = {.open = true,
                 .saving = true,
                 .unsaved = files_.unsaved(state_),
                 .path = files_.saving_path()};
    return false;
  }
  question_ = {.open = true,
               .saving = false,
               .unsaved = files_.unsaved(state_),
               .path = files_.dated_path("expertscope", ".session")};
  if (question_.unsaved > 0) return false;
  question_ = {};
  return true;
}

bool Closing::answer(CloseAnswer answer) {
  switch (answer) {
    case CloseAnswer::None:
      return false;
    case CloseAnswer::Stay:
      question_ = {};
      return false;
    case CloseAnswer::Discard:
      return true;
    case CloseAnswer::Save:
      break;
  }
  files_.save_session(state_, question_.path);
  question_.saving = true;
  return false;
}

Closing::Step Closing::tick() {
  if (!question_.saving || files_.saving()) return {};
  question_ = {};
  if (files_.save_failed()) return {.changed = true};
  return {.changed = true, .close = ask()};
}

}  // namespace app
