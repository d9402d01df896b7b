// A sentence on top of a card.
#pragma once

#include <string>

#include "app/gui/cards/card_layout.h"
#include "app/gui/controls/panel_context.h"

namespace app {

/// Draws it on as many lines as it needs: its conclusion comes last. Returns what is left below it,
/// all of `room` where it is empty.
Area with_sentence(const PanelContext& context, const Area& room, const char* id,
                   const std::string& sentence);

}  // namespace app
