// The logo of a merchant, which is a file. Everything else of a merchant follows from its tasks.
import { setBrand } from '../../organisations/brand.js';
import { LOGO_BYTES, readLogo } from '../../organisations/logo.js';
import { showMerchant } from '../../organisations/merchants.js';
import { outward } from '../../values/snake-case.js';
import { permissionOf } from '../all-tasks.js';
import { numberIn } from '../fence.js';
import { fileRoute, type Route } from '../route.js';

export const MERCHANT_ROUTES: readonly Route[] = [
  fileRoute(
    {
      path: '/merchants/:merchant/logo',
      permission: permissionOf('merchant set'),
      recent: true,
      fileBytes: LOGO_BYTES,
    },
    async ({ database, actor, params, body: { path } }) => {
      const merchant = numberIn(params.merchant);
      await setBrand(database, actor, merchant, { logo: await readLogo(path) });
      return outward(await showMerchant(database, merchant));
    },
  ),
];
