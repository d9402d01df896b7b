// Experiments and their outcomes to wire messages and back; see convert.h for what the way in
// checks.
#pragma once

#include "app/protocol/convert_snapshot.h"
#include "app/protocol/doctor_order.h"
#include "app/protocol/wire.h"
#include "engine/model/error.h"

namespace app {

wire::DoctorCommand to_wire(const DoctorOrder& order);
engine::Result<DoctorOrder> from_wire(const wire::DoctorCommand& message);

wire::DoctorReply to_wire(const DoctorDone& done);
engine::Result<DoctorDone> from_wire(const wire::DoctorReply& message);

}  // namespace app
