// The card of a device's core dump: where the kernel that hangs was when the dump was taken.
#pragma once

#include "app/gui/cards/card.h"
#include "app/gui/controls/panel_context.h"
#include "profiling/hazards/model/experiment.h"

namespace app {

/// `stall` has a core dump and outlives the card.
CardSpec core_card(const PanelContext& context, const profiling::Stall& stall);

}  // namespace app
