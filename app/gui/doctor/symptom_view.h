// From what people see to a case of the hazard gallery: a symptom, then the questions that separate
// its cases. Both come from the catalogue.
#pragma once

#include "app/gui/cards/card.h"
#include "app/gui/controls/panel_context.h"
#include "app/gui/doctor/examine_bar.h"

namespace app {

class SymptomView {
 public:
  /// A click on a question chooses its case in the bar, which outlives the card.
  CardSpec card(const PanelContext& context, ExamineBar& bar);

 private:
  void draw(const PanelContext& context, const Area& room, ExamineBar& bar);

  int symptom_ = 0;  // profiling::Symptom
};

}  // namespace app
