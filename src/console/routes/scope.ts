// Whose things are shown: of an organisation, a merchant, a mode. An operator who is limited to an organisation sees that one only.
import { Id } from '../../api/schemas.js';
import { Type } from '../../api/typebox.js';

export const Scope = {
  organisation: Type.Optional(Id('Of this organisation.')),
  merchant: Type.Optional(Id('Of this merchant.')),
  mode: Type.Optional(Type.Enum(['test', 'live'])),
};
