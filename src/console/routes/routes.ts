// All routes of the console. A subject has a file of its own, and a line here.
import { TASKS } from '../all-tasks.js';
import type { Route } from '../route.js';
import { routesOf } from '../task-routes.js';
import { CUSTOMER_ROUTES } from './customers-routes.js';
import { ENROLMENT_ROUTES } from './enrolment-routes.js';
import { INSTALLATION_ROUTES } from './installation-routes.js';
import { MERCHANT_ROUTES } from './merchants-routes.js';
import { PROVIDER_ROUTES } from './provider-routes.js';
import { SESSION_ROUTES } from './session-routes.js';
import { SETTLEMENT_ROUTES } from './settlement-routes.js';
import { SIGN_IN_ROUTES } from './sign-in-routes.js';
import { TODAY_ROUTES } from './today-routes.js';
import { TRANSACTION_ROUTES } from './transactions-routes.js';

export const ROUTES: readonly Route[] = [
  ...SESSION_ROUTES,
  ...SIGN_IN_ROUTES,
  ...SETTLEMENT_ROUTES,
  ...INSTALLATION_ROUTES,
  ...ENROLMENT_ROUTES,
  ...PROVIDER_ROUTES,
  ...TODAY_ROUTES,
  ...TRANSACTION_ROUTES,
  ...CUSTOMER_ROUTES,
  ...MERCHANT_ROUTES,
  ...TASKS.flatMap(routesOf),
];
