// The first row of a card: its title, the note beside it, the caller's widgets and the menu.
#pragma once

#include "app/gui/cards/card.h"

namespace app {

/// Leaves the cursor where the content begins.
void draw_card_header(const PanelContext& context, const CardSpec& spec);

}  // namespace app
